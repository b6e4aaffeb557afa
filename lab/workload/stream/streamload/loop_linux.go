package streamload

import (
	"context"

	"golang.org/x/sys/unix"

	"weir/lab/internal/oneloop"
	"weir/lab/internal/schedule"
	"weir/lab/internal/tally"
	"weir/lab/load"
)

const (
	drainTime = int64(2e9) // ns; limit on waiting for echoes after the last send
	// messages a second; from this rate on one wake-up sends several
	busyRate     = 20_000
	busyMinSleep = int64(200_000) // ns between wake-ups from that rate on
	// ns; a window waits for the schedule's next period if that starts within this time
	alignLimit = 100e6
)

// loop sends messages when they are due, reads replies, detects closed connections, and checks
// echoes and measures their latency. It does not allocate for a message.
type loop struct {
	Config
	*oneloop.State
	ctx      context.Context // of the short connections, in addition
	payload  *payload
	schedule schedule.Schedule // of messages; with bits only its start and pattern are used
	bits     *bits             // the order of a load in bits; nil: messages
	conns    []conn            // those that send, then the idle ones
	buffer   []byte
	churn    *churn // nil: none

	blockedConns int   // connections that wait to become writable
	owedCounted  bool  // what is not sent is counted as owed
	drainUntil   int64 // ns; limit on waiting for echoes
	counts
}

// counts are the loop's results beside oneloop.Counts. With bits, Messages and WarmMessages are
// computed from the bytes.
type counts struct {
	gaps, spread            tally.Distribution
	burst                   burst
	writes, owed, warmBytes int64
	discarded               int64 // bytes
}

func newLoop(ctx context.Context, c Config, s *oneloop.State) *loop {
	l := &loop{Config: c, State: s, ctx: ctx, payload: newPayload(c.Size), conns: make([]conn, c.Connections+c.Idle), buffer: make([]byte, span),
		counts: counts{gaps: tally.NewDistribution(), spread: tally.NewDistribution()}}
	if c.Bits > 0 {
		l.payload = newRepeated(bitsText)
	}
	if c.Rate*float64(c.Connections) >= busyRate {
		s.MinSleep = busyMinSleep
	}
	for i := range l.conns {
		l.conns[i].fd = -1
	}
	return l
}

// close must be called after the run.
func (l *loop) close() {
	for i := range l.conns {
		if fd := l.conns[i].fd; fd >= 0 {
			unix.Close(int(fd)) //nolint:errcheck // no data to lose
		}
	}
}

// Begun computes the schedule and starts the short connections.
func (l *loop) Begun() {
	start := l.Start.Load()
	l.schedule = schedule.Schedule{Start: start, Pattern: l.pattern(), N: l.Connections, Period: l.period(), Seed: l.Seed}
	switch {
	case l.Connections == 0:
	case l.Bits > 0:
		l.bits = newBits(start, l.Connections, l.Bits, l.schedule.Pattern)
		l.Order = l.bits
	default:
		l.Order = l.schedule.Order()
	}
	for i := range l.Connections {
		if l.Bits == 0 {
			l.conns[i].next = l.schedule.First(i)
			l.conns[i].awaited = l.conns[i].next
		}
	}
	if p := l.schedule.Period; l.Connections > 0 && p > 0 && p <= alignLimit && l.schedule.Pattern != load.Poisson {
		l.Align = l.schedule.Round // so that a window of whole periods contains whole bursts
	}
	if l.Churn > 0 {
		l.churn = &churn{churnPlan: churnPlan{start, 1e9 / l.Churn}, addr: l.Server.Address, payload: newPayload(l.Size),
			size: l.Size, echo: l.Echo, clock: l.Clock, window: l.Window, sent: &l.Done}
		l.churn.run(l.ctx)
	}
}

// Finish stops the short connections.
func (l *loop) Finish(end int64) {
	l.burst.end(l.spread)
	if l.churn != nil {
		l.churn.cancel()
	}
}

// Waiting reports whether full connections are awaited until the grace time is over, and then
// whether echoes are.
func (l *loop) Waiting(now int64) bool {
	if l.blockedConns > 0 && !l.givenUp(now) {
		return true
	}
	l.countOwed(now)
	return l.Echo && now < l.drainUntil && !l.complete()
}

// givenUp reports whether it is too late to send what was due in the window.
func (l *loop) givenUp(now int64) bool { return now > l.Window.To.Load()+l.grace() || l.Stop.Load() }

// countOwed counts what is not sent, once. Nothing is sent from then on.
func (l *loop) countOwed(now int64) {
	if l.owedCounted {
		return
	}
	l.owedCounted, l.drainUntil = true, now+drainTime
	for i := range l.conns {
		l.owed += l.owedMessages(i)
	}
}

// Leave completes the counts.
func (l *loop) Leave() {
	l.countOwed(l.Clock.Now())
	if l.Echo && !l.Stop.Load() {
		l.countMissing()
	}
}

// Check implements oneloop.Loop: messages have no timeout.
func (l *loop) Check(now int64) (next int64) { return now + oneloop.Nap }
