// Package stackapp is the application on a TCP/IP stack under test: the same code whichever stack
// it stands on, so that what differs is the stack. A subject's program gives Main its ways to
// listen, to dial and to close, and has the whole adapter: the services echo, discard and source on
// ports 7, 9 and 19, the flags, the orders by signal, and with --inside the measurement of the
// stack's own loopback, whose both ends are here.
//
// # Limitations
//
// A goroutine for each connection, as net.Conn wants it. Only the standard library, so that a
// module with other requirements can import it. Times of the inside report are to 1.6 %, and those
// of an operation that began before the window count when it ended in it.
package stackapp
