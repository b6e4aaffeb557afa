// Package stack is the kernel-side peer of a TCP/IP stack under test: it drives the stack from
// kernel sockets, one operation at a time, and says what came of it. The stack answers pings and
// offers three services over TCP: echo (port 7), discard (9), which closes when its peer has, and
// source (19).
//
//	ping     one paced sender, N identifiers; the kernel's time stamps of sending and receiving, so that this program's waiting is in no figure
//	connect  N clients, each one connection after the other: connect, 4,096 bytes, shut down, wait for the end of stream, close
//	in       N connections that send as much as the stack takes
//	out      N connections that take as much as the stack sends
//	rr       N connections, on each one byte to the stack and back at a time
//	idle     N connections that are opened, answered once and held
//
// One locked thread does it all: it waits in epoll, writes in large pieces, and receives by
// MSG_TRUNC, which drops bytes without copying them. The congestion control of its sockets is the
// Config's, set on each, whatever the machine's or the namespace's default.
//
// What counts. An operation that ends in the window. Of bulk, the bytes between two readings at the
// window's ends: with in those that the other end has acknowledged (TCP_INFO), never those that
// only a buffer here has taken, and after the window every connection is shut down, and the stack's
// own end of stream, with all bytes acknowledged, confirms that all has arrived; with out those
// that were read here. 65,536 bytes of bulk count as one message. Of pings, those that were due in
// the window: afterwards each is awaited until it is answered or lost.
//
// # Limitations
//
// Linux only: other systems are refused; pings need the right to open a raw socket, and are IPv4's.
// One thread: its core is the end (see docs/load-stack.md), and over a device the kernel's part of
// the sending is done on it. Acknowledged bytes lie in the stack, perhaps unread. Connections that
// end here leave their ports in TIME-WAIT, and when these run short the kernel's search for one
// takes longer than all else, and nothing fails: the report has a note then, and docs/load-stack.md
// the settings. A ping's time stamps are CLOCK_REALTIME: a clock that is set meanwhile is in the
// figure. While it runs, Run changes the whole process as the stream generator does.
package stack
