package load

// bitsText is what tcpkali was told to send in the published comparison, over and over.
const bitsText = "message\n"

// bitsTick is the least time between two writes of a connection, in ns: tcpkali's timers are no
// finer.
const bitsTick = 1_000_000

// bits is the order in which tcpkali 1.1.1 sends under --channel-bandwidth-upstream, as its sources
// tell.
//
// It knows no messages: a connection may have sent (now - since) x bandwidth bytes. Whenever its
// timer fires it writes what it may, disregarding message boundaries, and sets the timer to the
// later of one millisecond from now and the time for one byte. The timer counts from the write, so
// what a late wake-up costs is not made up for in the number of writes, only in their size: 1
// Mbit/s becomes somewhat under 1,000 writes a second of 125 bytes and a bit. tcpkali's connections
// share one event loop and its cached clock, so their timers soon fire in the same turn: that is
// the pattern Together. Staggered spreads the connections evenly over the first millisecond, and
// they stay apart because each counts from its own write.
//
// What it doesn't reproduce: the connection rate of 100 a second at the start, several worker
// threads, and that tcpkali forgets what is more than five seconds old.
type bits struct {
	perNS float64 // bytes a nanosecond
	tick  int64   // ns
	group bool    // all timers fire in the same turn
	turn  int64   // the time of the turn, for group
	// a ring: each is rearmed to the same time after its turn, so it is always in order
	queue []timer
	head  int
}

type timer struct {
	at    int64 // ns
	since int64 // ns; the connection has sent its due up to here
	conn  int32
}

// newBits gives n connections bandwidth bits a second each, from start on.
func newBits(start int64, n int, bandwidth float64, pattern string) *bits {
	b := &bits{perNS: bandwidth / 8e9, group: pattern == Together, queue: make([]timer, n)}
	b.tick = max(bitsTick, int64(1/b.perNS))
	for i := range b.queue {
		t := timer{at: start, since: start - b.tick, conn: int32(i)}
		if !b.group {
			t.at += int64(i) * b.tick / int64(n)
			t.since = t.at - b.tick
		}
		b.queue[i] = t
	}
	return b
}

func (b *bits) peek() (int64, int) { return b.queue[b.head].at, int(b.queue[b.head].conn) }

// then knows nothing of a lone connection, whose next write counts from the one before.
func (b *bits) then() int64 {
	if len(b.queue) == 1 {
		return 0
	}
	return b.queue[(b.head+1)%len(b.queue)].at
}

func (b *bits) take(now int64) int {
	t := &b.queue[b.head]
	if !b.group || b.head == 0 {
		b.turn = now // a turn of the loop reads the clock once
	}
	bytes := max(0, int(float64(b.turn-t.since)*b.perNS))
	t.since += int64(float64(bytes) / b.perNS)
	t.at = b.turn + b.tick
	if b.head++; b.head == len(b.queue) {
		b.head = 0
	}
	return bytes
}
