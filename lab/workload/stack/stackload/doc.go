// Package stack is the peer of a TCP/IP stack under test. It runs one operation on the stack from
// sockets of the kernel, and reports the outcome. The stack must answer pings and have three TCP
// services: echo (port 7), discard (9), which closes when its peer does, and source (19).
//
//	ping     one paced sender with N identifiers, timed by the kernel's time stamps
//	connect  N clients, one connection after the other: connect, 4,096 bytes, close
//	in       N connections that send bulk data to the stack
//	out      N connections that receive bulk data from the stack
//	rr       N connections with round trips of one byte
//	idle     N connections that are opened, used once and held
//
// Ping latencies use the kernel's time stamps of sending and receiving, so that they do not include
// the scheduling of this program. One locked thread runs each operation. It waits in epoll, writes
// large blocks, and receives with MSG_TRUNC, which drops bytes without copying them. The congestion
// control of Config is set on each socket.
//
// An operation counts if it ends in the window. Bulk data is the difference of two readings at the
// ends of the window. For in these are the acknowledged bytes (TCP_INFO), not those in the send
// buffer. After the window every connection is shut down. The stack's end of stream, with all bytes
// acknowledged, then confirms that all data has arrived. For out the readings are the bytes
// received here. 65,536 bytes of bulk data count as one message. Pings count if they were due in
// the window; the run then waits until each is answered or lost.
//
// # Limitations
//
// Linux only; on other systems Run returns an error. Pings are IPv4 and need CAP_NET_RAW. One
// thread: its core limits the load (see docs/load-stack.md), and over a device the kernel's part of
// the sending runs on it. Acknowledged bytes may be unread in the stack. Connections that close
// here leave ports in TIME-WAIT. If free ports are few, the kernel's search for one dominates the
// time, without an error: the report then has a note, and docs/load-stack.md describes the
// settings. Time stamps of pings are CLOCK_REALTIME, so setting that clock distorts them. While it
// runs, Run changes settings of the whole process as the stream generator does.
package stackload
