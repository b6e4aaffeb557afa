// Package chat puts members into the rooms of an IRC server, sends messages, checks every message
// that each member receives, and measures latencies.
//
// There are three loads. In the open loop messages are due at a constant rate, evenly spaced.
// Message k belongs to sender k modulo the number of senders. The latency of each delivery counts
// from the due time of its message, so coordinated omission is not possible. In the closed loop a
// sender sends its next message when the last one has been delivered to all members of its room.
// All members belong to the generator, so this needs no acknowledgements, and servers with and
// without echo are measured in the same way. In a replay the room is filled with messages first.
// Then one new member after the other joins and reads all of them: by CHATHISTORY in pages if the
// server supports it, otherwise as the server sends them on JOIN.
//
// Every message contains a mark of this run, its sender and its number. Each receiver expects the
// messages of each sender in order. A number that is too high means that earlier messages were lost
// (or are late). A number that is too low means a repeated or reordered message. A message that is
// not delivered before the timeout is missing.
//
// One locked thread joins, sends, reads, checks and counts. It waits in epoll, parses lines in the
// buffer, and does not allocate for an expected delivery.
//
// Messages are deliveries in the window. In the open loop every delivery of a message that was due
// in the window is Offered, and in the end either Answered or missing: after the window the run
// waits for all deliveries, at most for Config.Timeout. The latency covers those that were
// answered. In the closed loop and in a replay, deliveries count by their arrival time.
//
// # Limitations
//
// Linux only; on other systems Run returns an error. Plain TCP, no TLS. One thread: its core limits
// the load to some millions of deliveries a second. A member that loses its connection does not
// reconnect. Without echo-message members do not receive their own messages, and acknowledgements
// are determined by PING. Run changes the whole process as the stream generator does.
package chatload
