// Package chattest tests chat servers from outside: as processes that speak IRC over TCP and keep
// what was said as docs/protocol.md has it. It holds nothing but tests; one suite is run against
// weir chat serve under each way of running, and against c/chatd where it builds: by each compiler
// that is there, for this machine and, under qemu-user, for others.
//
//   - Conversations (testdata) read like the protocol. Each says which capability, command or mode
//     it needs, and is skipped where a server lacks it.
//   - The crash driver kills a server at random moments while clients that know what was
//     acknowledged talk, cuts and corrupts the tail of the log behind that, starts the server
//     again, and reads the history: nothing acknowledged may be lost, nothing doubled, nothing out
//     of order.
//   - The torture tests are what broke the chat that was published (a burst, a NUL, a key in
//     pieces, many who talk) and what breaks many others: a client that doesn't read, floods, a
//     thousand idle clients, all coming back at once.
//   - People's clients, irssi and WeeChat in tmux, join, talk, leave, come back and see what they
//     missed.
//
// The environment, for longer runs and other servers:
//
//	WEIR_CHATTEST_SERVER     a command to test instead of ours, words parted by blanks, with {data} and {addr} in it:
//	                         "qemu-aarch64 build/chatd-arm64 --data {data} --listen {addr} --no-sandbox"
//	WEIR_CHATTEST_COMPILERS  1: all tests, not just a few, against c/chatd as other compilers build it, for other machines too
//	WEIR_CHATTEST_KILLS      kills a server, 15 without it
//	WEIR_CHATTEST_SEED       of the crash driver's random numbers; random, and printed, without it
//	WEIR_CHATTEST_IDLE       idle clients, 1000 without it
//
// # Limitations
//
// A server under test has to take --flood N and --replay N behind its own flags, as ours do, and to
// keep DATA/lock locked while it runs. A kill is that of processes: what a disk that loses power
// keeps is not tested here. Linux only, as c/chatd and tmux are not everywhere.
package chattest
