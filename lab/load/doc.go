// Package load offers a server a stream of messages on an absolute schedule, and says how well it
// kept it.
//
// A run opens a fixed number of connections, and each of them owes messages of a fixed size at a
// constant mean rate. When each message is due is a pure function (see schedule.go), fixed before
// the first byte is sent: the load is open, a slow server gets no fewer messages, and lateness and
// latency count from the time at which a message was due. How arrivals lie to one another is a
// choice that turns verdicts round: evenly staggered, all connections together, or independent
// Poisson processes.
//
// One locked thread sends. It sleeps to absolute times (see raw.Alarm), writes without blocking,
// and allocates nothing. A connection whose socket is full keeps its schedule: what it owes is
// counted and sent as soon as the socket takes it. A second goroutine reads: it throws replies
// away, or, where echoes are checked, compares every byte with what was sent and times each
// message.
//
// Beside the stream a run can hold idle connections and make short-lived ones at a rate (churn),
// and it can send the way tcpkali's bandwidth mode does (see bits.go).
//
// A message, and a short connection, counts in the measured window if it was due in it. A message
// counts as sent if that was done by the window's end and a little grace (see Config.grace).
//
// # Limitations
//
// Linux only: other systems are refused. A neighbour on the sender's core makes it late, and the
// report shows it: give it a core of its own (Config.CPUs). One target address and one sending
// thread: about 60,000 connections, and some 200,000 messages a second, are the end. Lateness is
// the time at which a write began, not that at which the packet left. While it runs, Run changes
// the whole process: the collector rests up to a memory limit, GOMAXPROCS is at least 3, and with
// Config.CPUs every thread is bound.
package load
