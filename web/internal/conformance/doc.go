// Package conformance is a table of HTTP/1.1 requests: valid, unusual and malformed ones, each with
// the section of RFC 9110 or RFC 9112 that decides about it, and the answer of a server. Tests run
// the table against the scanner of web/http1, the engine, the server by each concurrency model, and
// net/http.
//
// An answer is written as what the client sees, one part for each response:
//
//	GET /a             the handler received this request; the connection goes on
//	POST / [abc]       with the content abc
//	GET / @b           for the host b; without @, for the host a
//	GET / X="1" T="2"  with the field X, and the trailer field T
//	GET /; close       the connection ends with the response
//	400                the request is rejected, and the connection ends
//	100, POST / [a]    an informational response precedes the final one
//
// Behind every input, the client sends the request Next. It must be read as what it is if the
// connection goes on, and be ignored if not: a request of which a server reads too much or too
// little shows there.
//
// # Limitations
//
//   - The client sends everything at once and then closes its side: what depends on time, such as a
//     message that breaks off, is tested elsewhere.
//   - Of a response, the table states only the status and whether the connection goes on.
package conformance
