// Package load is what all load generators share: the protocol by which another program steers a
// load (Conduct), the events of a run, the arrival patterns, the limits of settings, and the
// figures of a report. Merge makes one report of the parts of a load that several generators
// offered, and FindKnee searches for the highest rate that a server keeps up with.
//
// The generators are in the folders of the workloads, such as lab/workload/http/httpload. Each
// offers its load on an absolute schedule, and latency counts from the time at which a message was
// due.
//
// # Limitations
//
// The protocol is for two programs on one machine: its times are of CLOCK_MONOTONIC.
package load
