// Package httpload is a load generator for web servers. It checks every response, and reports
// latencies and how well it kept its own schedule.
//
// There are two loops. In the closed loop each connection sends its next request when it has the
// response to the last one, as ab does. This measures the highest rate of a server, but hides the
// latency that other clients would have seen (coordinated omission). In the open loop requests are
// due at a constant mean rate: evenly spaced, all connections together, or each connection as an
// independent Poisson process, whose times depend only on the seed. Each due time belongs to a
// connection, and latency counts from it. A request whose connection is busy waits for it and is
// sent late; no due request is left out. Without keep-alive each request opens a new
// connection when it is due. The number of connections then limits the requests under way, and a
// request beyond it fails as "limit".
//
// One locked thread connects, sends, reads, checks and counts. It waits in epoll, and does not
// allocate for a successful plain request. The strict parser of the package response reads every
// response, and every body is compared with the expected one.
//
// Messages are the complete and correct responses in the window. In the open loop a request that
// was due in the window is Offered, and in the end either Answered or Failed: after the window the
// run continues until all of them are complete, at most for Config.Timeout. The latency covers
// those that were answered. In the closed loop requests count by the time at which they end.
//
// For an https:// URL the thread runs crypto/tls. A handshake is a coroutine that is suspended
// while its socket is empty; after it records are read and written without blocking. Handshakes are
// full ones unless TLS.Resume is set, and have their own count and times. The parameters in the
// report are those of the first connection. Bytes count after decryption. A body that ends with its
// connection is complete only if the server sent close_notify (RFC 9112, section 9.8).
//
// With Config.Mix the requests are described, and are chosen at random by their weights. The choice
// is a function of the seed and of the request: of its connection and number in the open loop with
// keep-alive, else of its number. The body of an answer is compared as above, or only its length,
// hash, text or JSON fields are checked. Those that are searched are kept until they are complete.
//
// Over HTTP/2 (package h2) each connection has Config.Streams requests under way. A stream takes
// the place that a connection has in HTTP/1.1: due times belong to it, and the schedule spreads
// over all of them. Streams of a connection that send at the same time share a system call. A
// connection that the server ends by GOAWAY is replaced when its last stream is complete.
//
// A request with GRPC is a unary call (package unary). Its answer is correct if it has the expected
// grpc-status and, where the call succeeds, one whole message, to which the checks apply. An
// unexpected status has a kind of its own, such as "grpc UNAVAILABLE".
//
// # Limitations
//
// Linux only; on other systems Run returns an error. One server, no pipelining. TLS
// by crypto/tls: 1.2 and 1.3, no client certificates. One thread: its core limits the load (see
// docs/load-http.md), and a TLS handshake delays the requests that are due in it by its CPU time. A
// request on an idle connection that the server is closing fails as closed or reset; a browser
// would repeat it. Timeouts are checked every 50 ms or a twentieth of the timeout. Up to sixteen
// gzip encodings of a body are remembered. If a server produces more, each of its responses is
// decompressed, which takes this thread's time. While it runs, Run changes settings of the whole
// process as the stream generator does.
package httpload
