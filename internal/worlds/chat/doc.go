// Package chat tests package weir/chat in virtual networks (package tcpip/netsim): a server with
// terminal clients, WebSocket clients and plain IRC clients, on paths that lose packets, in
// partitions, with connections that are half-open, and behind a NAT that forgets its mappings. It
// contains only tests.
//
// The properties:
//
//   - Each message that a user has sent is in the room's log once, and those of one user are there
//     in the order in which the user has sent them.
//   - Every client shows all messages of the log, each once, in the log's order, whatever happened
//     to its connections.
//   - No connection receives a message twice outside of a history that its client has requested.
//   - A read marker never moves back, and all devices of an account agree on it in the end.
//   - Nothing is left when the server has stopped: no goroutine, no connection.
//
// WEIR_CHAT_WORLDS is the number of seeds.
//
// # Limitations
//
// The server runs by the concurrency model Goroutine: the event loops, the coroutines and the
// pre-forked processes of package serve need a kernel's descriptor, and a wait in epoll would stop
// the virtual time. The search index is off, because its library runs outside of the virtual time.
// The data directory is on a simulated disk (package internal/disk/simdisk), which loses power with
// its host: of what was not synced, any part survives. A sync takes no virtual time; the delivery
// of a batch begins some milliseconds after it.
package chat
