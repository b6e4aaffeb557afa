// Package http offers a web server requests and says what came of them, and how well it kept to its
// own schedule.
//
// Two loops. In the closed one each connection sends its next request when the answer to the one
// before is in, as ab does: it finds out what a server can do, and hides how long anybody else
// would have waited. In the open one requests are due at a constant rate, evenly apart and fixed
// beforehand; request k belongs to connection k modulo their number, and latency counts from the
// time at which a request was due, whatever the server did meanwhile. A request that finds its
// connection busy waits for it and is sent late: nothing that was due is left out. Without
// keep-alive each request has a connection of its own, opened when the request is due; the number
// of connections then is how many may be under way at once, and what exceeds it fails as "limit".
//
// One locked thread connects, sends, reads, checks and counts. It waits in epoll until something
// arrives or is due, and allocates nothing for a request that goes well. Every answer is read by
// the strict parser of the package response, and every body is compared with the one expected.
//
// What counts. Messages are the answers that came whole and right in the window. In the open loop,
// a request that was due in the window is Offered, and afterwards either Answered or Failed: after
// the window the run goes on until every one of them is decided, at most Config.Timeout long.
// Latency is of those that were answered. In the closed loop everything counts by the time at which
// it was over.
//
// # Limitations
//
// Linux only: other systems are refused. GET over plain HTTP/1.1, one URL, no pipelining, no TLS.
// One thread: its core is the end (see docs/load-http.md). A request that meets the end of an idle
// connection fails as closed or reset: a browser would try again. Timeouts are found by looking
// round every 50 ms or a twentieth of the timeout. Of bodies that gzip encodes, up to sixteen
// different encodings are remembered; a server that makes more has each of its answers decoded,
// which takes this thread's time. While it runs, Run changes the whole process as the stream
// generator does.
package http
