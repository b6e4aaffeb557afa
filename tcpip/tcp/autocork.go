package tcp

import "time"

// autocork recognizes a stream that the application writes in large pieces. The end of a piece then
// waits for the next one, so that the device gets full superframes: a superframe of 64 KB costs
// little more than a frame (the idea is that of Linux's tcp_autocorking).
type autocork struct {
	writes         int    // large writes in a row, without input between them
	lastWriteAt    Time   // when the last of them came
	receivedBefore uint64 // receiver.receivedTotal then
}

const (
	// autocorkWriteSize is the size of a large write, in bytes. Messages are smaller: they never
	// wait.
	autocorkWriteSize = 16 << 10
	// so many large writes make a stream, with at most autocorkGap between two
	autocorkMinWrites = 4
	autocorkGap       = time.Millisecond
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

// autocorked reports whether the end of what was written waits: more is likely to follow. While
// nothing is in flight, it does not: no acknowledgment would come before the timer.
func (c *Conn) autocorked() bool {
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
