package serve

import "math"

// drainBudget bounds the input that a session handles at a stop by what has arrived when it looks
// for the first time. Without a bound, a peer that goes on sending would be answered until
// Options.DrainTimeout.
type drainBudget struct {
	counted bool
	left    int // bytes that the session may still read
}

// unknownInput is the number of bytes that have arrived on a connection that cannot tell.
const unknownInput = math.MaxInt

// spent reports whether the input that has arrived must stay unread; queued is its length in the
// kernel, buffered the most that TLS may have read of it. With nothing in the kernel, the next read
// shows whether the peer has finished.
func (b *drainBudget) spent(queued, buffered int) bool {
	if !b.counted {
		b.counted, b.left = true, queued
		if queued != unknownInput {
			b.left += buffered
		}
	}
	return b.left <= 0 && queued > 0
}

// read records that the session has read n bytes.
func (b *drainBudget) read(n int) {
	if b.counted && b.left != unknownInput {
		b.left -= n
	}
}
