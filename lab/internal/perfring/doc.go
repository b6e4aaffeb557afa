// Package perfring reads the ring buffers of perf_event_open(2), into which the kernel writes the
// records of an event.
//
// Limitations: Linux only. A ring that overwrites old records, and records of more than 64 KB, are
// not supported.
package perfring
