// Package chattest tests chat servers from outside: as processes that speak IRC over TCP and store
// logs as docs/protocol.md specifies. It contains only tests. The same suite runs against weir chat
// serve under each concurrency model, and against c/chatd if it can be built: by each installed
// compiler, natively and under qemu-user.
//
//   - Conversations (testdata) are scripts of IRC lines. Each names the capabilities, commands or
//     modes that it needs, and is skipped if a server lacks one.
//   - The crash test kills a server at random moments while clients send messages, damages the
//     log after the acknowledged ones, restarts the server and reads the history. No acknowledged
//     message may be lost, duplicated or out of order.
//   - The power test runs a server on ext4, XFS and btrfs, on a disk that records its writes and
//     flushes. For each flush, and for random moments, it mounts what a disk may have kept, starts
//     the server, and compares with what was acknowledged. It needs root, FUSE and loop devices.
//   - The torture tests repeat what broke the originally published chat (a burst, a NUL, a
//     password in pieces, many clients) and other servers: a client that does not read, a flood, a
//     thousand idle clients, and a simultaneous reconnect of all clients.
//   - Real clients, irssi and WeeChat in tmux, join, talk, leave, return and see what they missed.
//
// Environment variables for longer runs and other servers:
//
//	WEIR_CHATTEST_SERVER     a command to test instead of ours, separated by blanks, with {data}
//	                         and {addr} in it:
//	                         "qemu-aarch64 chatd-arm64 --data {data} --listen {addr} --no-sandbox"
//	WEIR_CHATTEST_COMPILERS  1: all tests, not just a few, with every compiler of c/chatd
//	WEIR_CHATTEST_KILLS      number of kills per server; default 15
//	WEIR_CHATTEST_POWER_LOSSES
//	                         number of power losses per server and file system; by default 6, on
//	                         ext4 only
//	WEIR_CHATTEST_SEED       seed of the crash test; default random, and logged
//	WEIR_CHATTEST_IDLE       number of idle clients; default 1000
//
// # Limitations
//
// A server under test must accept --flood N and --replay N after its own flags, and keep DATA/lock
// locked while it runs. The tests run on Linux only, because c/chatd and tmux are not available
// everywhere.
package chattest
