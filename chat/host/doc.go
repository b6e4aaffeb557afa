// Package host is a chat as a service that runs for years: it puts together what the other packages
// of chat are, from one [Config].
//
// [Read] reads a configuration from a TOML file, with what the command line says put over it;
// [Config.Check] says what is wrong with one, in a sentence. [Open] opens the data directory and
// everything that listens; [Host.Run] serves until its context ends, and then stops in this order:
//
//  1. /readyz and /healthz say that the server is stopping.
//  2. Nobody is let in any more, and sessions end, those of the page beside those of IRC clients:
//     what they said is stored and acknowledged first.
//  3. The page's server ends.
//  4. Retention and other work in the background ends.
//  5. The chat is closed: what is left is committed, marks are written, files closed.
//  6. The metrics are closed, last, so that they can be asked until then.
//
// All of it takes Config.Drain at most: clients that take nothing any more are not waited for
// longer. A disk that does not answer is waited for 5 seconds more.
//
// # Being followed
//
// A [Keeper] runs a host and has it followed by another process: that is started, and says that its
// configuration is good; then [Host.HandOver] has the chat wait, and Run end, and what [Resume]
// goes on from is given to it. When that fails anywhere, this process resumes itself. Clients by
// TLS and those of the page part beside the next host. See package chat/upgrade.
//
// # What plugs in where
//
// A new way in is an entrance (entrance.go): a listener, how its sessions are opened, and how they
// are run. What is served by HTTP is mounted in web.go. What runs in the background is started in
// Host.Run by Host.background, and ends when its context does. What can change while the server
// runs is taken over in Host.Reload (reload.go).
//
// # Limitations
//
// The addresses that are listened on, the data directory and how connections are run hold from the
// start to the end of a process.
package host
