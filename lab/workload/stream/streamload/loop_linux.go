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
	maxDispatch  = 64             // messages sent before echoes are read again
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
	order    sendOrder         // nil before the load begins
	conns    []conn            // those that send, then the idle ones
	buffer   []byte
	churn    *churn // nil: none

	minSleep     int64 // ns; the minimum time between two wake-ups
	lastOffer    int64 // ns; the last time at which due messages were sent
	blockedConns int   // connections that wait to become writable
	settled      bool  // what is not sent is owed
	sendUntil    int64 // ns; when the backlog is given up after the window
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
		l.minSleep = busyMinSleep
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
	l.order = l.newOrder()
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

func (l *loop) newOrder() sendOrder {
	switch {
	case l.Connections == 0:
		return emptyOrder{}
	case l.Bits > 0:
		return newBits(l.schedule.Start, l.Connections, l.Bits, l.schedule.Pattern)
	}
	return messageOrder{l.schedule.Order(), l.Size}
}

// Due implements oneloop.Loop.
func (l *loop) Due() (at, then int64) {
	if l.order == nil {
		return tally.Unset, tally.Unset
	}
	at, _ = l.order.Peek()
	if l.minSleep > 0 {
		at = max(at, l.lastOffer+l.minSleep)
		return at, at + l.minSleep
	}
	return at, l.order.Then()
}

// Offer sends the messages that are due at now or become due meanwhile, at most maxDispatch and none
// after the window.
func (l *loop) Offer(now int64) (more bool) {
	l.lastOffer = now
	end := l.Window.To.Load()
	for range maxDispatch {
		at, i := l.order.Peek()
		if at > now || at >= end {
			return false
		}
		l.addDue(i, at, now)
		now = l.Clock.Now()
	}
	return true
}

// Finish sends what was due in the window, until the grace time is over.
func (l *loop) Finish(end int64) {
	l.sendUntil = end + l.grace()
	for at, i := l.order.Peek(); at < end; at, i = l.order.Peek() {
		if now := l.Clock.Now(); now <= l.sendUntil && !l.Stop.Load() {
			l.addDue(i, at, now)
		} else if bytes := l.order.take(end); l.Window.Holds(at) {
			l.Offered++
			l.owed += int64(bytes / l.Size)
		}
	}
	l.burst.end(l.spread)
	if l.churn != nil {
		l.churn.cancel()
	}
}

// Waiting waits for full connections until the grace time is over, then for echoes.
func (l *loop) Waiting(now int64) bool {
	if l.blockedConns > 0 && now < l.sendUntil {
		return true
	}
	l.settle(now)
	return l.Echo && now < l.drainUntil && !l.complete()
}

// settle counts what is not sent. Nothing is sent from then on.
func (l *loop) settle(now int64) {
	if l.settled {
		return
	}
	l.settled, l.drainUntil = true, now+drainTime
	for i := range l.conns {
		l.owed += l.owedMessages(i)
	}
}

// Leave completes the counts.
func (l *loop) Leave() {
	l.settle(l.Clock.Now())
	if l.Echo && !l.Stop.Load() {
		l.countMissing()
	}
}

// Check implements oneloop.Loop: messages have no timeout.
func (l *loop) Check(now int64) (next int64) { return now + oneloop.Nap }
