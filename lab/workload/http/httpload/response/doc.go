// Package response is a strict parser of HTTP/1.1 responses (RFC 9112), for a client that tests
// servers.
//
// A Parser is a state machine: its input is bytes, its output pieces of the body, and Done reports
// that a response is complete. It has no connection and no clock. It copies only lines that arrive
// in pieces, and allocates at most once for them. The caller may split the stream anywhere.
//
// The RFC lets a client repair some errors of a server. This parser rejects them: a bare LF, folded
// lines, white space before a colon, two lengths, a length with chunked, chunked in HTTP/1.0, a
// length with 204. Otherwise a faulty server would be measured as a correct one.
//
// # Limitations
//
// One response at a time: bytes after it are left to the caller. Only the fields that frame a
// message or encode its body are kept. Trailers are checked and dropped. The only transfer coding
// is chunked, and switching protocols is an error, because the client requests neither.
package response
