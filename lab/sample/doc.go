// Package sample accounts for the cost of a server: the CPU of its whole process tree, including
// children that have exited, its memory, its threads and its context switches.
//
// A [Group] is the unit of accounting. Processes that are started in it ([Group.Start]) are counted
// from their first instruction, with all their descendants. [Group.CPU] reads the total,
// [Group.Census] counts what is alive, and [Record] samples the total on an absolute schedule.
// [Group.Close] kills the remaining processes and removes the group. Several groups may exist at
// once.
//
// NewGroup selects the first CPU accounting method that works on this machine, in this order:
//
//  1. cgroup v2 cpu.stat: in a cgroup at the root of the hierarchy or below our own (delegated).
//     Exact to a microsecond; counts everything, however it exits. It is preferred to v1, which has
//     the finer unit of the same kernel sum, for three reasons. Children are created in the cgroup,
//     the kill is atomic, and perf events can be attached.
//  2. cgroup v1 cpuacct.usage: exact to a nanosecond; counts everything, however it exits.
//  3. subreaper and wait: the CPU clock of each living process, plus the times that wait returned
//     for the exited. Children whose parent ignores SIGCHLD count as far as they were seen alive.
//  4. process CPU clocks: the living processes only.
//
// All of them use the scheduler's run times in nanoseconds, and none uses ticks. The division into
// user and system time has the resolution of ticks on most kernels and is not offered.
//
// # Limitations
//
// Linux only; on other systems NewGroup returns an error. The kernel adds a running thread's time
// to a cgroup when the thread leaves the core or at a tick, so a reading may lag by one tick (1 to
// 10 ms) per core. Kernel work in interrupt context is charged to the interrupted process or to
// none: loopback does a receiver's TCP work in the sender's context. A process that root moves to
// another cgroup leaves the account.
package sample

import "time"

// Placement is where a started command runs. The zero value inherits both.
type Placement struct {
	CPUs  []int  // cores it may use, from 0; empty: those of the caller
	Netns string // name of a network namespace under /run/netns; empty: that of the caller
}

// Point is one reading of a group's CPU.
type Point struct {
	At  time.Duration // CLOCK_MONOTONIC, read immediately before CPU
	CPU time.Duration // cumulative, whole process tree
}

// Census counts what was alive in a group at one moment. It does not contain the counts of ended
// threads, so the difference of two of them is exact only if the tree kept its threads.
type Census struct {
	PIDs         []int // ascending
	Processes    int
	Threads      int
	RSS          int64         // bytes, shared pages counted once per process
	PeakRSS      int64         // bytes: the sum of the processes' own peaks (VmHWM)
	PSS          int64         // bytes, shared pages divided among their users
	Voluntary    int64         // context switches of threads that waited
	Involuntary  int64         // context switches of threads that were preempted
	RunQueueWait time.Duration // time in which threads were runnable and had no core
}

// Machine is a reading of the whole machine's counters. Only differences of two readings are
// meaningful.
type Machine struct {
	At    time.Duration // CLOCK_MONOTONIC
	CPU   time.Duration // all cores, all processes
	Exact bool          // CPU counts run times and not ticks
	// time that the hypervisor gave to others while this machine had work; in ticks of 10 ms
	Steal    time.Duration
	Stalled  time.Duration // time in which a thread waited for a core (pressure stall information)
	Pressure bool          // Stalled is available on this machine
	clocks   map[int]time.Duration
}

// Neighbour is a process outside the groups that used CPU between two readings.
type Neighbour struct {
	PID  int
	Name string // empty if it has ended
	CPU  time.Duration
}

// Reading is the result of one accounting method for a group.
type Reading struct {
	Name, About string
	Percents    []float64 // of one core, one value per window
}

// Mean returns the mean CPU in % of one core; 0 if there is no complete window.
func (r Reading) Mean() float64 {
	var sum float64
	for _, p := range r.Percents {
		sum += p
	}
	return sum / float64(max(1, len(r.Percents)))
}
