// Package reason measures why a server costs what it costs: which system calls it makes, how often
// its threads are woken and switched, and what one context switch costs on this machine.
//
// [Start] traces a group under load. [Watch.Stop] returns the counts, to be divided by the messages
// of the same time. There are two tools, the better first:
//
//   - tracepoints: the kernel writes a record for each system call and context switch of the
//     group's cgroup, and for each wake-up on the machine, into a ring buffer (perf_event_open(2)).
//     Costs the server well under a microsecond per event. Needs root and a group with cgroup v2.
//   - strace: stops the server twice in each system call, which makes it several times slower and
//     changes how messages are combined into reads. It sees no wake-ups and no context switches.
//
// Either tool disturbs the server, so it belongs in a separate trial whose CPU figures are not
// used.
//
// [SwitchCosts] measures the cost of one switch between processes, threads, goroutines and
// coroutines, and over a channel.
//
// # Limitations
//
// Linux only. A wake-up is counted as the server's if the woken thread was also seen to leave its
// core: a thread that is woken once and does not sleep again is missed. System calls that the C
// library handles without the kernel (clock_gettime) are seen by neither tool. Names come from a
// table; other calls are listed by their number.
package reason

import (
	"weir/lab/result"
)

// Counts are the events of a group while it was traced.
type Counts struct {
	Tool     string           // "tracepoints", "strace"
	Syscalls int64            // system calls entered
	ByName   map[string]int64 // the same by name
	// how often a thread of the group was woken; -1 if the tool cannot count it
	Wakeups  int64
	Switches int64 // how often a thread left its core; -1 if the tool cannot count it
	// records that the kernel dropped: the counts are too low by this number
	LostRecords int64
	Note        string // a remark for the reader, or empty
}

// Per divides by the messages that the server handled in the same time. The caller sets the
// subject, connections and pattern.
func (c Counts) Per(messages int64) result.EventCounts {
	per := func(n int64) float64 {
		if n < 0 {
			return -1
		}
		return float64(n) / float64(max(messages, 1))
	}
	r := result.EventCounts{Tool: c.Tool, Syscalls: per(c.Syscalls), ByName: map[string]float64{}, Wakeups: per(c.Wakeups),
		Switches: per(c.Switches), Messages: messages, Note: c.Note}
	for name, n := range c.ByName {
		r.ByName[name] = per(n)
	}
	return r
}
