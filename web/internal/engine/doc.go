// Package engine serves HTTP/1 on connections. It drives the state machine of web/http1 with the
// bytes of a net.Conn, and calls an [http.Handler] for each request. It waits only in calls of the
// connection, and serves it in turns, so it runs by every concurrency model of package serve.
//
// Ownership: one goroutine at a time, that of the turn, owns a connection and its exchanges. While
// a handler works whose context is watched, a second goroutine reads the connection, in order to
// notice that the client disconnects; it has ended before the next read of the owner.
//
// # Limitations
//
//   - In models without event loops, an idle connection keeps the buffers of an exchange.
//   - A client that takes a response slowly is noticed by the time of single writes. Bytes that the
//     kernel has buffered count as taken.
//   - On an event loop, the context of a request does not end when the client disconnects, unless
//     the handler has left the loop.
package engine
