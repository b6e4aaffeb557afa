package http

import (
	"context"
	"errors"
	"fmt"
	"time"

	"weir/lab/load"
	"weir/lab/load/internal/raw"
	"weir/lab/load/internal/tally"
)

// Run offers the load of c to its server and reports what came of it. It returns when the measured window
// is over and its last request is decided, when a command says stop, or when ctx is done; then with an
// error beside what was found until then. An error that Is load.ErrUsage is c's fault. Failed requests
// are no error of Run: they stand in the report. Whatever happens, every connection is closed and every goroutine
// has ended.
//
// The order: ask once what bodies to expect, open all connections, offer and measure, wait for the last answers, close.
func Run(ctx context.Context, c Config, ev load.Events) (Report, error) {
	if err := c.Check(ev.Commands != nil); err != nil {
		return Report{}, err
	}
	if err := errors.Join(raw.BindCPUs(c.CPUs), raw.RaiseFileLimit(c.Connections)); err != nil {
		return Report{}, err
	}
	addr, want, err := find(ctx, c)
	if err != nil {
		return Report{}, err
	}
	defer raw.Settle()()
	s := &shared{Config: c, clock: raw.NewClock(raw.Monotonic), addr: addr, request: c.request(), bodies: want, window: tally.NewWindow(),
		steered: ev.Commands != nil, ready: make(chan struct{}), over: make(chan struct{}), done: make(chan struct{})}
	l, err := newLoop(s)
	if err != nil {
		return Report{}, err
	}
	defer l.close()
	r := &run{Events: ev, loop: l}
	go l.run()
	err = r.control(ctx)
	if l.err != nil {
		return Report{}, errors.Join(ctx.Err(), l.err)
	}
	return l.report(), err
}

// run is one run under way, owned by the goroutine that called Run.
type run struct {
	load.Events
	loop                    *loop
	commands                <-chan load.Command // nil while none is served
	toldBegun, toldMeasured bool
}

func call(f func(int64), at int64) {
	if f != nil {
		f(at)
	}
}

// control tells events and serves commands until the loop has ended and nobody wants its connections any more.
func (r *run) control(ctx context.Context) error {
	ticks, stop := r.ticks()
	defer stop()
	ready, over, cancelled := r.loop.ready, r.loop.over, ctx.Done()
	for {
		select {
		case <-ready:
			ready = nil
			r.begun()
		case <-over:
			over, ticks = nil, nil
			r.measured()
		case <-r.loop.done:
			if r.loop.err == nil {
				r.measured()
				r.hold(ctx)
			}
			return ctx.Err()
		case cmd, ok := <-r.commands:
			r.obey(cmd, ok)
		case <-ticks:
			if r.toldBegun {
				r.Progress(r.progress())
			}
		case <-cancelled:
			cancelled = nil
			r.loop.stop.Store(true)
		}
	}
}

func (r *run) ticks() (<-chan time.Time, func()) {
	if r.Every <= 0 || r.Progress == nil {
		return nil, func() {}
	}
	t := time.NewTicker(r.Every)
	return t.C, t.Stop
}

// begun tells that the load begins, once. Commands are served from then on.
func (r *run) begun() {
	if r.toldBegun {
		return
	}
	r.toldBegun, r.commands = true, r.Commands
	call(r.Connected, r.loop.connected.Load())
	call(r.Sending, r.loop.start.Load())
	if !r.loop.steered {
		call(r.Measuring, r.loop.start.Load())
	}
}

// measured tells that the window is over, if there was one, once.
func (r *run) measured() {
	r.begun()
	if !r.toldMeasured && r.loop.from != 0 {
		call(r.Measured, r.loop.to)
	}
	r.toldMeasured = true
}

// obey carries out a command, or the end of commands. Once the window is over, it only ends the hold.
func (r *run) obey(cmd load.Command, ok bool) {
	w := r.loop.window
	measuring := w.To.Load() != tally.Unset
	switch {
	case r.toldMeasured, !ok && measuring:
		r.commands = nil
	case !ok, cmd.Measure <= 0:
		r.commands = nil
		r.loop.stop.Store(true)
	case !measuring:
		from := max(r.loop.clock.Now()+int64(2*time.Millisecond), r.loop.start.Load())
		w.To.Store(from + int64(cmd.Measure))
		w.From.Store(from)
		time.Sleep(time.Duration(from - r.loop.clock.Now()))
		call(r.Measuring, from)
	}
}

// hold keeps a steered run's connections open and silent after its window, for whoever steers to look at the
// server as it was, until the next command or the end of commands.
func (r *run) hold(ctx context.Context) {
	if r.commands == nil || r.loop.from == 0 || r.loop.stop.Load() {
		return
	}
	select {
	case <-r.commands:
	case <-ctx.Done():
	}
}

func (r *run) progress() load.Progress {
	l := r.loop
	now, start := l.clock.Now(), l.start.Load()
	return load.Progress{Elapsed: time.Duration(max(0, now-start)), Sent: l.answered.Load(), Failed: l.failed.Load(), Alive: int(l.alive.Load()),
		Lateness: time.Duration(l.worst.Swap(0)), Measuring: now >= l.window.From.Load()}
}

// report is what the loop found, once it has ended.
func (l *loop) report() Report {
	window := l.to - l.from
	rep := Report{URL: l.URL, Address: l.addr, Connections: l.Connections, Rate: l.Rate, KeepAlive: !l.Close, TimeoutNS: int64(l.timeout()),
		Offered: l.offered, Attempted: l.attempted, Messages: l.messages, Answered: l.answeredDue, Failed: l.failedIn, Unfinished: l.unfinished,
		Bytes: l.bytes, BodyBytes: l.bodyBytes, Encoded: l.encoded, Behind: l.behind, WarmMessages: l.warm, Opened: l.opened,
		LatenessUS: l.lateness.Percentiles(), LatencyUS: l.latency.Percentiles(), DueUS: l.latency.Times(),
		ConnectUS: l.connects.Times(), WaitUS: l.waits.Times(), ProcessingUS: l.processing.Times(), TotalUS: l.totals.Times(),
		Errors: map[string]int64{}, Details: l.fails.Details, Interrupt: l.cut,
		CPUNS: l.cpuTo - l.cpuFrom, RunQueueNS: l.queueTo - l.queueFrom, WindowNS: window, StartedNS: l.from}
	for kind, n := range l.fails.Kinds {
		rep.Errors[kind] = n
	}
	if l.period == 0 {
		rep.Offered, rep.Answered, rep.LatencyUS = l.attempted, l.messages, l.totals.Percentiles()
	}
	if l.tooMany() {
		rep.Stopped = fmt.Sprintf("after %d errors", l.failed.Load())
	}
	if rep.Offered > 0 {
		rep.AchievedRatio = float64(rep.Messages) / float64(rep.Offered)
	}
	if window > 0 {
		rep.OfferedRate = float64(rep.Offered) * 1e9 / float64(window)
		rep.MessageRate = float64(rep.Messages) * 1e9 / float64(window)
	}
	return rep
}
