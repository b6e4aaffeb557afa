// Package chat fills the rooms of an IRC server with members who talk, checks everything that they
// are told, and says how long it took.
//
// Three loads. In the open loop messages are due at a constant rate, evenly apart and fixed
// beforehand; message k belongs to sender k modulo their number, and the latency of each of its
// deliveries counts from the time at which it was due. In the closed loop every sender sends its
// next message when the one before was delivered to everybody who is to get it: all members are
// here, so that is known without any acknowledgement, and servers that do not echo are measured as
// those that do. In a replay the room is filled with so many messages first; then a newcomer after
// the other joins and reads all of them, by CHATHISTORY in pages where the server has it, or else
// what it is sent on joining.
//
// Every message carries a mark of this run, its sender and its number. Each receiver expects the
// messages of each sender one after the other: a number that is too high means that those before it
// were lost (or come later), one that is too low that it came twice or out of order. What was not
// delivered when the time is up is missing.
//
// One locked thread joins, sends, reads, checks and counts. It waits in epoll, parses lines where
// they lie in the buffer, and allocates nothing for a delivery that is as expected.
//
// What counts. Messages are deliveries in the window. In the open loop every delivery of a message
// that was due in the window is Offered, and afterwards either Answered or missing: the run goes on
// after the window until all came, at most Config.Timeout long. Latency is of those that were
// answered. In the closed loop and in a replay everything counts by the time at which it came.
//
// # Limitations
//
// Linux only: other systems are refused. Plain TCP, no TLS. One thread: its core is the end, at
// some millions of deliveries a second. A member who loses its connection is not connected again.
// Without echo-message nobody is told of their own messages, and what is acknowledged is found out
// by PING. While it runs, Run changes the whole process as the stream generator does.
package chat
