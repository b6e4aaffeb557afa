// Package sampler samples the call stacks of a process group at a fixed frequency.
//
// The kernel's timer interrupts each core ([PeriodNS] apart) and records what runs there:
// perf_event_open(2) with the software event cpu-clock, which needs no hardware counter. A sample
// has the kernel's and the program's call chain. Samples of other processes are dropped at once.
//
// The timer runs on, whichever process is on the core. An event that counts only the group would
// be stopped and started at each context switch, which costs a server more than its message.
//
// # Limitations
//
// Linux only, and it needs root or CAP_PERFMON. The interrupt is not an NMI: time with interrupts
// disabled counts where they are enabled again. Program frames are found by frame pointers. Time
// in which a thread waits is not sampled. A program that starts and ends within [DrainInterval] has
// no map of its memory, so its frames have no names. Samples beyond the limits are dropped and
// counted.
package sampler

import (
	"time"
)

const (
	// DrainInterval is the time between two readings of the kernel's buffers.
	DrainInterval = 10 * time.Millisecond
	maxSamples    = 500_000
	maxFrames     = 8 << 20 // of all samples together: 64 MB
	maxProcesses  = 100_000 // whose memory maps are kept
)

// A Sample is one observation of a thread of the group on a core.
type Sample struct {
	PID    int
	At     time.Duration // CLOCK_MONOTONIC
	Kernel []uint64      // return addresses, innermost first; empty in user mode
	User   []uint64      // return addresses, innermost first
}

// A Recording is what a Sampler saw.
type Recording struct {
	Samples []Sample
	Period  time.Duration // of a core's time that a sample stands for
	Lost    int64         // samples that did not fit into a buffer
	// executable mappings by process, ascending by address; processes that forked share one slice
	Maps map[int][]Mapping
}

// A Mapping is an executable part of a process's memory.
type Mapping struct {
	Start, End uint64 // addresses
	Offset     uint64 // of Start in the file, in bytes
	Path       string // of the file, as the process sees it; "", "[vdso]" or "//anon" without one
	// Path is not the name of the file any more: it was removed, or replaced by another
	Deleted bool
}
