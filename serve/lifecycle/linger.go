package lifecycle

import "time"

const (
	// MaxDiscard is how many bytes of input a lingering close discards at most.
	MaxDiscard = 16 << 20
	// lingerPoll is how often a lingering close checks for the last acknowledgment while the
	// service stops.
	lingerPoll = Time(5 * time.Millisecond)
)

// Linger is the lingering close of a connection that this side has ended and shut down for writing.
// A kernel that closes a TCP socket with unread input, or that receives input afterwards, sends a
// reset. The peer then loses output that it has not received. So the input is discarded until the
// peer closes, within a timeout and MaxDiscard. When the service stops, the connection is closed as
// soon as the peer's kernel has acknowledged the output.
type Linger struct {
	left  int  // bytes that may still be discarded
	until Time // when to close in any case
}

// NewLinger starts a lingering close.
func NewLinger(now Time, timeout time.Duration) Linger {
	return Linger{left: MaxDiscard, until: now + Time(timeout)}
}

// Left returns how many bytes may still be discarded.
func (l *Linger) Left() int { return l.left }

// Discarded reports that n bytes of input were discarded.
func (l *Linger) Discarded(n int) { l.left -= n }

// Next returns the next step: Read to discard input, Finish to close the connection, or Wait, until
// the time or input comes. Of the facts, Broken says that the peer has finished or the connection
// has failed, and OutputQueued that output is not acknowledged. InputReady and Stopping have their
// meaning.
func (l *Linger) Next(now Time, f Facts) (Step, Time) {
	switch {
	case f&Broken != 0 || l.left <= 0 || now >= l.until:
		return Finish, 0
	case f&InputReady != 0:
		return Read, 0
	case f&Stopping == 0:
		return Wait, l.until
	case f&OutputQueued == 0:
		return Finish, 0
	}
	return Wait, min(l.until, now+lingerPoll)
}
