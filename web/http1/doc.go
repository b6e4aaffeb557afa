// Package http1 follows the bytes that a client sends on an HTTP/1.x connection and says whether an
// engine behind it may see them. It is strict about everything that two programs could read
// differently, because a request that a proxy and the server behind it delimit differently smuggles
// a second one past the first (RFC 9112, section 11.2): lengths, codings, line ends, spaces around
// names, chunks. What a field means, and whether a path exists, is not its business.
//
// A Scanner is a pure state machine: bytes in, a verdict out, no clock, no socket, no allocation,
// and the same verdict however the bytes were cut into reads. It changes nothing: bytes go on as
// they came, up to the first violation. There, Refusal gives bytes which make any reader refuse the
// message, so that an engine that knows nothing of the scanner answers at the right time, behind
// the answers to what was pipelined before.
//
// # Limitations
//
//   - One empty line before a request line is let through after a POST only, as net/http wants it;
//     RFC 9112, section 2.2, would have a server ignore one always.
//   - White space between a chunk's size and its extensions is refused, though the grammar has it
//     (as something recipients should tolerate); so is a chunk line beyond the limit.
//   - Bytes above 127 and characters such as { | } pass in a target: engines escape them; '#' does
//     not pass.
//   - "Transfer-Encoding: gzip, chunked" is refused: nobody sends it, and no engine here would
//     decode it.
//   - Responses are not read: it serves the server's side.
package http1
