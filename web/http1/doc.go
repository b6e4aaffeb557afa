// Package http1 checks the bytes that a client sends on an HTTP/1.x connection before an engine
// sees them. It rejects everything that two programs could read differently: lengths, codings, line
// ends, spaces around names, chunks. If a proxy and the server behind it disagree on where a
// request ends, a client can smuggle a second request past the proxy (RFC 9112, section 11.2). The
// package does not judge what fields mean or whether a path exists.
//
// A Scanner is a pure state machine: bytes in, a verdict out. It has no clock, no socket and no
// allocation, and its verdict does not depend on how the bytes were cut into reads. It does not
// change the bytes, which are forwarded up to the first violation. From there, Refusal gives bytes
// that make any reader reject the message. So an engine that does not know the scanner answers at
// the right time: after the responses to earlier pipelined requests.
//
// # Limitations
//
//   - One empty line before a request line is accepted after a POST only, as net/http expects. RFC
//     9112, section 2.2, asks servers to ignore one at any time.
//   - A chunk line beyond the limit is rejected.
//   - Bytes above 127 and characters such as { | } are accepted in a target: engines escape them. A
//     '#' is rejected.
//   - "Transfer-Encoding: gzip, chunked" is rejected: no common client sends it, and no engine here
//     would decode it. So is a list with empty elements.
//   - A minor version above 1 is rejected.
//   - The scanner is for servers. Of responses, ParseResponse checks the head.
package http1
