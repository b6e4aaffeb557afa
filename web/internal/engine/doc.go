// Package engine serves HTTP/1 on connections. It is not in use yet: see ADR 0018. It drives the
// state machine of web/http1 with the bytes of a net.Conn, and calls an [http.Handler] for each
// request. It blocks in Read and Write of the connection only, so it runs by every concurrency
// model of package serve that runs handlers.
//
// Ownership: the goroutine (or coroutine) that calls [Server.ServeConn] owns the connection and its
// exchanges. While a handler works whose context is watched, a second goroutine reads the
// connection, in order to notice that the client disconnects; it has ended before the next read of
// the owner.
//
// # Limitations
//
//   - An idle connection keeps an input buffer of 4 KiB.
//   - A client that takes a response slowly is noticed by the time of single writes. Bytes that the
//     kernel has buffered count as taken.
//   - Where the connection is a coroutine's, the context of a request does not end when the client
//     disconnects.
package engine
