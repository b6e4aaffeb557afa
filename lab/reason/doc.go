// Package reason finds out why a server costs what it costs: which system calls it makes, how often
// its threads are woken and switched, and what one switch costs on this machine.
//
// [Start] watches a group while it works under load; [Watch.Stop] returns what was counted, to be
// divided by the messages of the same time. Two tools can do it, the better first:
//
//   - tracepoints: the kernel writes a record for each system call and switch of the group's
//     cgroup, and for each wake-up on the machine, into a ring in memory, by perf_event_open(2).
//     Costs the server well under a microsecond for each event. Needs root and a group kept by
//     cgroup v2.
//   - strace: stops the server twice in each system call, which makes it several times slower and
//     changes how messages gather into reads. It sees no wake-ups and no switches.
//
// Either disturbs what it looks at, so it belongs in a trial of its own whose CPU figures are not
// used.
//
// [SwitchCosts] measures the price of one switch between processes, threads, goroutines and
// coroutines, and over a channel.
//
// # Limitations
//
// Linux only. A wake-up is counted as the server's if the woken thread was also seen to leave the
// core: a thread that is woken once and never sleeps again in the time watched is missed. System
// calls that the C library answers without the kernel (clock_gettime) are not seen by either tool.
// Names come from a table; a call that isn't in it appears by its number.
package reason

import (
	"weir/lab/result"
)

// Counts is what a group did while it was watched.
type Counts struct {
	Tool     string           // "tracepoints", "strace"
	Syscalls int64            // system calls entered
	ByName   map[string]int64 // the same by name
	// how often a thread of the group was made ready; -1 if the tool can't see it
	Wakeups  int64
	Switches int64 // how often one left its core; -1 if the tool can't see it
	// records that the kernel had no room for: the rest is too low by as many
	Lost int64
	Note string // what the reader should know; else empty
}

// Per divides by the messages that the server handled in the same time. The cell is left for the
// caller to name.
func (c Counts) Per(messages int64) result.Reasons {
	per := func(n int64) float64 {
		if n < 0 {
			return -1
		}
		return float64(n) / float64(max(messages, 1))
	}
	r := result.Reasons{Tool: c.Tool, Syscalls: per(c.Syscalls), ByName: map[string]float64{}, Wakeups: per(c.Wakeups),
		Switches: per(c.Switches), Messages: messages, Note: c.Note}
	for name, n := range c.ByName {
		r.ByName[name] = per(n)
	}
	return r
}
