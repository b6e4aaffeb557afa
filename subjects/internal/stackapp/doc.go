// Package stackapp is the application on a TCP/IP stack under test. The code is the same for all
// stacks, so that differences come from the stack. A subject's program gives Main its functions to
// listen, dial and close, and becomes a whole adapter. The adapter has the services echo, discard
// and source on ports 7, 9 and 19, the flags, and the commands by signal. With --inside it measures
// the stack's own loopback with both ends in this process.
//
// # Limitations
//
// It uses a goroutine for each connection, as net.Conn requires. It imports only the standard
// library, so that a module with other requirements can import it. Times of the inside report have
// a resolution of 1.6 %. An operation that started before the window counts if it ended in it.
package stackapp
