package main

import "time"

// readSize is the largest read, equal in all subjects.
const readSize = 4096

// job is the work for each message. It is shared and immutable.
type job struct {
	config
	put func([]byte) error // writes to standard output
}

// progress is the number of bytes that a connection has received.
type progress struct{ total int }

// handled counts n more bytes, computes for each message that they complete, and returns how long
// to wait for these messages.
func (p *progress) handled(n int, j *job) time.Duration {
	k := (p.total+n)/j.size - p.total/j.size
	p.total += n
	if k > 0 && j.work > 0 {
		for end := time.Now().Add(time.Duration(k) * j.work); time.Now().Before(end); {
		}
	}
	return time.Duration(k) * j.wait
}
