// Package response reads HTTP/1.1 responses (RFC 9112) as a client that judges the server:
// strictly.
//
// A Parser is a state machine: bytes go in, pieces of the body come out, and when a response is
// whole the Parser says so. It holds no connection and no clock, copies nothing but lines that came
// in pieces, and allocates nothing once it has seen such a line. Whoever drives it may cut the
// stream anywhere.
//
// Where the RFC lets a client repair what a server did wrong, this one refuses: bare LF, folded
// lines, blanks before a colon, two lengths, a length beside chunks, chunks in HTTP/1.0, a length
// with 204. A server that does such things would be measured as if it worked.
//
// # Limitations
//
// One response at a time: bytes that follow it are the caller's to judge. Only the fields that
// frame a message or encode its body are kept. Trailers are checked and dropped. No transfer coding
// but chunked, and no switching of protocols, since nobody asked for either.
package response
