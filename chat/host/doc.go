// Package host is the chat as a service for production: it assembles the other packages of chat
// from one [Config].
//
// [Source.Read] reads a configuration from a TOML file, overridden by flags. [Config.Check] returns
// its first problem. [Open] opens the data directory and all listeners. [Host.Run] serves until its
// context ends, and then stops in this order:
//
//  1. /readyz and /healthz report that the server is stopping.
//  2. Accepting stops and sessions end, those of browsers beside those of IRC clients. Their
//     messages are stored and acknowledged first.
//  3. The page's server stops.
//  4. Retention and other background work stops.
//  5. The chat is closed: pending posts are committed, read markers written, files closed.
//  6. The metrics stop last, so they can be read until then.
//
// All of this takes at most Config.Drain; clients that do not read are disconnected then. A disk
// that does not answer is given 5 more seconds.
//
// # Upgrades
//
// A [Keeper] runs a host and can replace its process by a newer one. It starts the new process,
// which checks its configuration. Then [Host.HandOver] freezes the chat and makes Run return. The
// new process receives the state and continues by [Resume]. If a step fails, this process resumes
// its own state. Clients by TLS and browsers are disconnected while the new host already serves.
// See package chat/upgrade.
//
// # Extension points
//
// A new kind of connection is an entrance (entrance.go): a listener, how its sessions are opened,
// and their concurrency model. HTTP handlers are mounted in web.go. Background work is started by
// Host.background and ends with its context. Settings that may change while the server runs is
// applied in Host.Reload (reload.go).
//
// # Limitations
//
// The listening addresses, the data directory and the concurrency model are fixed for the life of a
// process.
package host
