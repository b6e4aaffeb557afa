package tcp

import "time"

// autocork recognizes a stream that the application writes in large pieces. They then wait for the
// next ones, so that the device gets full superframes, and several at once: a superframe of 64 KB
// costs little more than a frame (the idea is that of Linux's tcp_autocorking).
type autocork struct {
	writes         int    // large writes in a row, without input between them
	lastWriteAt    Time   // when the last of them came
	receivedBefore uint64 // receiver.receivedTotal then
	sending        bool   // a batch was full, and its superframes are being sent
}

const (
	// autocorkWriteSize is the size of a large write, in bytes. Messages are smaller: they never
	// wait.
	autocorkWriteSize = 16 << 10
	// so many large writes make a stream, with at most autocorkGap between two
	autocorkMinWrites = 4
	autocorkGap       = time.Millisecond
	// autocorkBatch is how many superframes make a full batch
	autocorkBatch = 4
	// autocorkDelay is how long the end of a piece waits, at most
	autocorkDelay = 100 * time.Microsecond
)

// addWrite counts a write of n bytes.
func (a *autocork) addWrite(n int, received uint64, now Time) {
	if n < autocorkWriteSize || received != a.receivedBefore || now.Sub(a.lastWriteAt) > autocorkGap {
		a.writes = 0
	}
	a.writes++
	a.lastWriteAt, a.receivedBefore = now, received
}

// autocorked reports whether n of the unsent bytes, the next superframe, wait: more is likely to
// follow, and several superframes at once let the peer sleep longer between them. While nothing is
// in flight they do not wait: no acknowledgment would come before the timer.
func (c *Conn) autocorked(n, unsent, superframe int) bool {
	switch {
	case unsent >= autocorkBatch*superframe:
		c.autocork.sending = true
	case unsent < superframe:
		c.autocork.sending = false
	}
	if c.autocork.sending || n < min(unsent, superframe) { // or a window is the limit
		return false
	}
	if c.autocork.writes < autocorkMinWrites || c.flight.empty() || c.phase != phaseOpen || c.finQueued || c.sndNxt.Less(c.flushBefore) {
		return false
	}
	if c.autocorkAt == 0 {
		c.autocorkAt = c.now.Add(autocorkDelay)
	}
	return c.now < c.autocorkAt
}

// onAutocorkTimeout has everything sent that was written until now.
func (c *Conn) onAutocorkTimeout() {
	c.autocorkAt, c.flushBefore = 0, c.sendEnd()
}
