package main

import "time"

// readSize is the largest read, equal in all subjects.
const readSize = 4096

// job is what is done with messages. It is shared and not written.
type job struct {
	config
	put func([]byte) error // writes to standard output
}

// progress is how far a connection's stream of messages has come.
type progress struct{ total int }

// handled notes that n bytes came, computes for the messages that they complete, and returns how
// long to wait for them.
func (p *progress) handled(n int, j *job) time.Duration {
	k := (p.total+n)/j.size - p.total/j.size
	p.total += n
	if k > 0 && j.work > 0 {
		for end := time.Now().Add(time.Duration(k) * j.work); time.Now().Before(end); {
		}
	}
	return time.Duration(k) * j.wait
}
