// Package perfring reads the ring buffers of perf_event_open(2), into which the kernel writes the
// records of an event. Linux only.
package perfring
