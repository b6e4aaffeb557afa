package streamload

import "weir/lab/load"

// bitsText is the text that tcpkali sent repeatedly in the published comparison.
const bitsText = "message\n"

// bitsTick is the shortest interval between two writes of a connection, in ns. tcpkali's timers
// have this resolution.
const bitsTick = 1_000_000

// bits reproduces the order in which tcpkali 1.1.1 sends under --channel-bandwidth-upstream,
// according to its source code.
//
// tcpkali has no notion of messages: a connection may have sent (now - since) x bandwidth bytes.
// When its timer fires it writes the allowed bytes, regardless of message boundaries. It then sets
// the timer to the later of one millisecond from now and the time for one byte. The timer counts
// from the write, so a late wake-up makes the next write larger, but does not add a write. 1 Mbit/s
// becomes slightly under 1,000 writes a second of slightly over 125 bytes.
//
// tcpkali's connections share one event loop and its cached clock, so their timers soon fire in the
// same iteration: that is the pattern Together. Staggered spreads the connections evenly over the
// first millisecond. They stay apart because each timer counts from its own write.
//
// Not reproduced: the connection rate of 100 a second at the start, several worker threads, and
// that tcpkali drops allowances older than five seconds.
type bits struct {
	bytesPerNS float64 // bytes per nanosecond
	interval   int64   // ns
	group      bool    // all timers fire in the same iteration
	iteration  int64   // ns; the time of the iteration, for group
	// a ring, always ordered by time: each timer is rearmed to the same interval after its turn
	queue []timer
	head  int
}

type timer struct {
	at       int64 // ns
	sentUpTo int64 // ns; all bytes that were allowed before this time have been sent
	conn     int32
}

// newBits allows n connections bandwidth bits a second each, from start on.
func newBits(start int64, n int, bandwidth float64, pattern string) *bits {
	b := &bits{bytesPerNS: bandwidth / 8e9, group: pattern == load.Together, queue: make([]timer, n)}
	b.interval = max(bitsTick, int64(1/b.bytesPerNS))
	for i := range b.queue {
		t := timer{at: start, sentUpTo: start - b.interval, conn: int32(i)}
		if !b.group {
			t.at += int64(i) * b.interval / int64(n)
			t.sentUpTo = t.at - b.interval
		}
		b.queue[i] = t
	}
	return b
}

func (b *bits) Peek() (int64, int) { return b.queue[b.head].at, int(b.queue[b.head].conn) }

// Then returns 0 for a single connection, because its next write depends on the one before.
func (b *bits) Then() int64 {
	if len(b.queue) == 1 {
		return 0
	}
	return b.queue[(b.head+1)%len(b.queue)].at
}

// Advance does nothing: take does, since the next time depends on when it is called.
func (b *bits) Advance() {}

// take goes on to the next connection, at time now, and returns how many more bytes this one owes.
func (b *bits) take(now int64) int {
	t := &b.queue[b.head]
	if !b.group || b.head == 0 {
		b.iteration = now // an iteration of the event loop reads the clock once
	}
	bytes := max(0, int(float64(b.iteration-t.sentUpTo)*b.bytesPerNS))
	t.sentUpTo += int64(float64(bytes) / b.bytesPerNS)
	t.at = b.iteration + b.interval
	if b.head++; b.head == len(b.queue) {
		b.head = 0
	}
	return bytes
}
