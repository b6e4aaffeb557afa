// Package streamload sends messages to a server on an absolute schedule, and reports how well the
// schedule was kept. It is an open-loop load generator: latency counts from the time at which a
// message was due, so coordinated omission is not possible.
//
// A run opens a fixed number of connections. On each, messages of a fixed size are due at a
// constant mean rate. The due time of each message is a pure function (package schedule), fixed
// before the first byte is sent. A slow server therefore receives no fewer messages, and lateness
// and latency count from due times. The arrival pattern (evenly staggered, all connections
// together, or independent Poisson processes) is a setting, because it can reverse the ranking of
// servers.
//
// One locked thread sends and reads. It waits in epoll until absolute times (see raw.Alarm), writes
// without blocking, and allocates nothing. A connection with a full socket buffer keeps its
// schedule: its backlog is counted and sent as soon as the socket is writable. Replies are
// discarded, or, if echoes are checked, every byte is compared with what was sent and the latency
// of each message measured. A message that becomes due while echoes are read is sent before the
// next.
//
// In addition a run can hold idle connections and open short connections at a rate (churn). It can
// also send as tcpkali's bandwidth mode does (see bits.go).
//
// A message, or a short connection, counts in the measured window if it was due in it. A message
// counts as sent if it was written by the end of the window plus Config.grace.
//
// # Limitations
//
// Linux only; on other systems Run returns an error. Another process on the thread's core makes it
// late, which the report shows: give it a core of its own (Config.CPUs). With one target address
// and one thread the limits are about 60,000 connections and some 200,000 messages a second.
// Lateness is the time at which a write started, not the time at which the packet left. Run changes
// the whole process: the garbage collector is off up to a memory limit, GOMAXPROCS is at least 3,
// and with Config.CPUs every thread is bound.
package streamload
