// Package sample accounts for what a server costs: the CPU of its whole process tree, children that
// have exited included, its memory, its threads and its context switches.
//
// A [Group] is the unit of account. What is started in it ([Group.Start]) is counted from its first
// instruction, and so is everything that it starts in turn; [Group.CPU] reads the total,
// [Group.Census] looks at what is alive, [Record] samples the total on an absolute schedule, and
// [Group.Close] kills what is left and takes every trace away. Several groups may exist at once.
//
// NewGroup takes the best ruler that works here, in this order:
//
//  1. cgroup v2 cpu.stat: in a cgroup at the root of the hierarchy or below our own (delegated).
//     Exact to a microsecond, counts everything, however it exits. It is first although v1 has the
//     finer unit (both read the same kernel sum) because its child is born in the cgroup, it kills
//     atomically, and perf events can be tied to it.
//  2. cgroup v1 cpuacct.usage: exact to a nanosecond, counts everything, however it exits.
//  3. subreaper and wait: the kernel's CPU clock of each living process, plus what the exited were
//     waited for with. Children whose parent ignores SIGCHLD count as far as they were seen alive.
//  4. process CPU clocks: the living processes only.
//
// All of them rest on the scheduler's nanosecond run times and none on ticks. The division into
// user and system time is tick-grained on most kernels and is not offered.
//
// # Limitations
//
// Linux only; elsewhere NewGroup refuses. The kernel adds a running thread's time to a cgroup when
// it leaves the core or at a tick, so one reading may lag by a tick (1 to 10 ms) for each core.
// Work that the kernel does in the name of nobody, or of whoever was interrupted, is in nobody's or
// the wrong account: loopback does a receiver's TCP work in the sender's context. A process that
// root moves to another cgroup leaves the account.
package sample

import "time"

// Placement says where a started command runs. The zero value inherits both.
type Placement struct {
	CPUs  []int  // cores it may use, from 0; empty: the caller's
	Netns string // name of a network namespace under /run/netns; empty: the caller's
}

// Point is one reading of a group's CPU.
type Point struct {
	At  time.Duration // CLOCK_MONOTONIC, taken right before the reading
	CPU time.Duration // cumulative, whole tree
}

// Census is what was alive in a group at one moment. Counts of threads that have ended are not in
// it, so the difference of two of them is exact only for a tree that kept its threads in between.
type Census struct {
	PIDs         []int // ascending
	Processes    int
	Threads      int
	RSS          int64         // bytes, shared pages counted once for each process
	PeakRSS      int64         // bytes: the sum of each process's own peak (VmHWM)
	PSS          int64         // bytes, shared pages divided among their users
	Voluntary    int64         // context switches because a thread waited
	Involuntary  int64         // context switches because a thread was made to yield
	RunQueueWait time.Duration // time in which threads were ready and had no core
}

// Machine is a reading of the whole machine's accounts. Only differences of two readings mean
// anything.
type Machine struct {
	At    time.Duration // CLOCK_MONOTONIC
	CPU   time.Duration // of all cores, everybody's
	Exact bool          // CPU counts run times and not ticks
	// what the hypervisor gave to others while we wanted it; in ticks of 10 ms
	Steal    time.Duration
	Stalled  time.Duration // time in which somebody waited for a core (pressure stall information)
	Pressure bool          // Stalled can be read here
	clocks   map[int]time.Duration
}

// Neighbour is a process outside the groups that used CPU meanwhile.
type Neighbour struct {
	PID  int
	Name string // empty if it has ended
	CPU  time.Duration
}

// Reading is what one ruler showed of a group.
type Reading struct {
	Name, About string
	Percents    []float64 // of one core, one for each window
}

// Mean is the mean CPU in % of one core; 0 if there is no full window.
func (r Reading) Mean() float64 {
	var sum float64
	for _, p := range r.Percents {
		sum += p
	}
	return sum / float64(max(1, len(r.Percents)))
}
