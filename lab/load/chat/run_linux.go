package chat

import (
	"context"
	"errors"
	"time"

	"weir/lab/load"
	"weir/lab/load/internal/raw"
	"weir/lab/load/internal/tally"
)

// errAllLost is the end of a run whose server ended every connection.
var errAllLost = errors.New("load: every connection was lost before the end")

// Run offers the load of c to its server and reports what came of it. It returns when the measured window
// is over and its last delivery has come or is given up, when a command says stop, or when ctx is done; then with an
// error beside what was found until then. An error that Is load.ErrUsage is c's fault. Deliveries that are missing
// or wrong are no error of Run: they stand in the report. Whatever happens, every connection is closed and every goroutine
// has ended.
//
// The order: connect and join, fill the room for a replay, talk and measure, wait for the last deliveries, close.
func Run(ctx context.Context, c Config, ev load.Events) (Report, error) {
	if err := c.Check(ev.Commands != nil); err != nil {
		return Report{}, err
	}
	if err := errors.Join(raw.BindCPUs(c.CPUs), raw.RaiseFileLimit(c.Members+c.Idle+1)); err != nil {
		return Report{}, err
	}
	conn, err := raw.NewDialer().DialContext(ctx, "tcp", c.Target)
	if err != nil {
		return Report{}, raw.DialError(c.Target, err)
	}
	addr := conn.RemoteAddr().String()
	conn.Close()
	defer raw.Settle()()
	s := &shared{Config: c, clock: raw.NewClock(raw.Monotonic), addr: addr, window: tally.NewWindow(),
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
		err = errors.Join(ctx.Err(), l.err)
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
	var ticks <-chan time.Time
	if r.Every > 0 && r.Progress != nil {
		t := time.NewTicker(r.Every)
		defer t.Stop()
		ticks = t.C
	}
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
	return load.Progress{Elapsed: time.Duration(max(0, now-start)), Sent: l.delivered.Load(), Alive: int(l.alive.Load()),
		Lateness: time.Duration(l.worst.Swap(0)), Measuring: now >= l.window.From.Load()}
}
