// Package core has the state of a chat and its rules: rooms, users, sessions, limits, and the order
// of messages. It is a pure state machine. It is called with commands and the time, by one
// goroutine at a time. It starts nothing, reads no clock, and opens neither file nor socket.
//
// # Calls and effects
//
// A call starts with [Core.Begin], which sets the time, and ends with [Core.End]. Between them, the
// caller calls methods of the core, of a [Session] or of a [Task]. Effects that take no time are
// calls of a session's connection ([environment.Conn]). Effects that take time are returned by End:
// tasks whose jobs the caller runs and then continues ([Core.ContinueOnWorker]), and timers.
//
// Work of several steps is a task (task.go): a join, a history, a login, a commit. It runs during
// calls of the core, except while it awaits a job. The session of a task runs no command until the
// task has ended.
//
// # Order of messages
//
// A new subscription receives no live messages until its replay has caught up with the deliveries,
// which is checked in one call. So a member receives each message once, by replay or live, and
// receives its JOIN and the names first. conversation.go has the life of a message.
//
// # Limitations
//
// Its only caller is package chat. The compiler does not see whether code that follows a pause of a
// task checks again what it knew before. The worlds of the tests, which run jobs in any order, do.
package core
