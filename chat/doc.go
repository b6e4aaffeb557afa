// Package chat is a chat service that speaks IRC and never loses an acknowledged message: rooms,
// users and their sessions. A session is a [serve.Session]. It runs under every concurrency model
// of package serve that does not split processes.
//
// This package is the service around the core (package chat/core), which has all state and rules:
// its lock, its workers and timers, the data directory, and the sessions as package serve calls
// them.
//
// # Life of a message
//
// A session parses a line (package chat/irc), checks it and adds it to the pending posts of its
// conversation: a room, or the direct messages of two accounts. The commit task of the conversation
// first appends all pending posts as one batch to the log and fsyncs it (package chat/log). Then it
// delivers: it encodes the batch once for each set of capabilities and writes it to all subscribers
// by one system call, where the kernel allows that (serve.Fanout). A conversation has one commit
// task at most, so its messages have one order. Posts that arrive meanwhile form the next batch.
// After a batch of several messages, the first answer waits for others for some milliseconds: the
// coalescing window.
//
// Acknowledged means durable: the echo of a message is sent by the delivery. Replies keep the order
// of the commands. While a session has undelivered messages, it runs no command but another message
// to the same target. So a PONG says that all messages sent before its PING are on disk.
//
// # Ownership
//
// The service has a lock, under which it calls the core, and three pools of workers for the jobs of
// the core's tasks: of commits, of searches, and of all others. A background goroutine maintains
// the search index, and no other goroutine waits for it (searching.go). Deliveries are jobs: they
// write without the lock, to the subscriptions that were live when the delivery began.
//
// # When something is full
//
// The queues of the pools have room for every conversation and session, so Put never blocks for
// them. A session with maxPendingMessages undelivered messages stops reading input. A client that
// lets Outbox bytes queue up is disconnected. It reconnects and misses nothing, because the log has
// every message. Messages that the disk does not take are refused, each with a reply to its sender.
//
// # Upgrades
//
// A service can hand over to another one in a new process, which continues with the same clients.
// See handover.go for the order of steps and package chat/upgrade for the mechanism.
//
// # Limitations
//
// One process serves a data directory at a time. Direct messages are stored between accounts only.
// Joins, parts and mode changes are not part of the history.
package chat
