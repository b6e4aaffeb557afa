// Package chat is a chat service that speaks IRC and never loses an acknowledged message: rooms,
// users and their sessions. A session is a [serve.Session] and runs under every way of package
// serve that does not split processes.
//
// # Life of a message
//
// A session parses a line (package chat/irc), checks it and puts it into the pending batch of its
// room. The room goes through a net of one stage, four rooms at a time: commit appends the whole
// batch to the room's log and returns when the disk has it (package chat/log); deliver encodes the
// batch once for each kind of client and writes it to every member by one Send. A room is in the
// net once at most, so it has one order, and what comes meanwhile is the next batch. A large room
// rests for some milliseconds between two batches (rest.go).
//
// Acknowledged means durable: an echo is what deliver writes. Replies come in the order of
// commands: a session with messages under way that reads anything but another message to the same
// room holds, and goes on when they were delivered. So a PONG behind a message says that it is on
// disk.
//
// # Ownership
//
// One lock, Service.mu, guards rooms, users and memberships; every command runs under it, and none
// blocks: what needs a disk or a slow hash (joining, history, logging in) runs on the desk, a stage
// of a few goroutines, while its session holds; the desk then owns the session. Searches have a
// desk of their own, and the index that they look into is kept by a goroutine that nobody waits for
// (searching.go). Deliver writes without the lock, to the seats that it saw under it. Locks are
// taken in the order: opening, mu, a connection's own.
//
// A new seat gets no messages until its replay has caught up with deliver, under the lock: a member
// sees each message once, by replay or live, and its JOIN and the names before it.
//
// # When something is full
//
// The net has room for every conversation, and the desk for every session: putting never waits. A
// session with more than pendingLines under way holds. A member whose connection takes nothing
// while Options.Outbox bytes wait is closed; it comes back and misses nothing, for the log has it.
// A disk that takes nothing has its messages refused, one by one.
//
// # Going on elsewhere
//
// A service can be followed by another, of another process, that goes on with its clients: see
// handover.go for the order, and package chat/upgrade for how it gets there.
//
// # Limitations
//
// One process at a time. Direct messages are stored between accounts only. Joins, parts and modes
// are not stored.
package chat
