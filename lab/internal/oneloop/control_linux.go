package oneloop

import (
	"context"
	"errors"
	"time"

	"weir/lab/internal/tally"
	"weir/lab/load"
)

// ErrAllLost is the error of a run whose server closed every connection.
var ErrAllLost = errors.New("load: every connection was lost before the end")

// Run runs the loop in a goroutine of its own, with the given number of connections and length of
// the window. It reports the loop's events and executes commands until the loop has ended and its
// connections are no longer needed. It returns an error if the loop failed or ctx ended.
func (s *State) Run(ctx context.Context, ev load.Events, l Loop, connections int, window time.Duration) error {
	return s.Control(ctx, ev, func() { s.run(l, connections, window) })
}

// Control is Run with any function as the loop. It closes State's channels.
func (s *State) Control(ctx context.Context, ev load.Events, loop func()) error {
	c := &controller{State: s, Events: ev}
	go loop() // until it closes Ended
	err := c.control(ctx)
	if s.Err != nil {
		err = errors.Join(ctx.Err(), s.Err)
	}
	return err
}

// controller is owned by the goroutine that called Run.
type controller struct {
	*State
	load.Events
	commands                        <-chan load.Command // nil while commands are not accepted
	begunReported, measuredReported bool
}

func call(f func(int64), at int64) {
	if f != nil {
		f(at)
	}
}

func (c *controller) control(ctx context.Context) error {
	ticks, stop := c.ticks()
	defer stop()
	ready, over, cancelled := c.Ready, c.Over, ctx.Done()
	for {
		select {
		case <-ready:
			ready = nil
			c.begun()
		case <-over:
			over, ticks = nil, nil
			c.measured()
		case <-c.Ended:
			if c.Err == nil {
				c.measured()
				c.holdOpen(ctx)
			}
			return ctx.Err()
		case cmd, ok := <-c.commands:
			c.execute(cmd, ok)
		case <-ticks:
			if c.begunReported {
				c.Progress(c.progress())
			}
		case <-cancelled:
			cancelled = nil
			c.Stop.Store(true)
		}
	}
}

func (c *controller) ticks() (<-chan time.Time, func()) {
	if c.Every <= 0 || c.Progress == nil {
		return nil, func() {}
	}
	t := time.NewTicker(c.Every)
	return t.C, t.Stop
}

// begun reports, once, that the load starts. Commands are accepted from then on.
func (c *controller) begun() {
	if c.begunReported {
		return
	}
	c.begunReported, c.commands = true, c.Commands
	call(c.Events.Connected, c.State.Connected.Load())
	call(c.Sending, c.Start.Load())
	if !c.Steered {
		call(c.Measuring, c.Start.Load())
	}
}

// measured reports, once, that the window is over, if there was one.
func (c *controller) measured() {
	c.begun()
	if !c.measuredReported && c.From != 0 {
		call(c.Measured, c.To)
	}
	c.measuredReported = true
}

// execute executes a command, or the end of commands. After the window it only ends the wait of
// holdOpen.
func (c *controller) execute(cmd load.Command, ok bool) {
	w := c.Window
	measuring := w.To.Load() != tally.Unset
	switch {
	case c.measuredReported, !ok && measuring:
		c.commands = nil
	case !ok, cmd.Measure <= 0:
		c.commands = nil
		c.Stop.Store(true)
	case !measuring:
		from := max(c.Clock.Now()+notice, c.Start.Load())
		if c.Align != nil {
			from = c.Align(from)
		}
		w.To.Store(from + int64(cmd.Measure))
		w.From.Store(from)
		time.Sleep(time.Duration(from - c.Clock.Now()))
		call(c.Measuring, from)
	}
}

// holdOpen keeps a steered run's connections open and silent after its window, so that the caller
// can inspect the server, until the next command or the end of commands.
func (c *controller) holdOpen(ctx context.Context) {
	if c.commands == nil || c.From == 0 || c.Stop.Load() {
		return
	}
	select {
	case <-c.commands:
	case <-ctx.Done():
	}
}

func (c *controller) progress() load.Progress {
	now, start := c.Clock.Now(), c.Start.Load()
	return load.Progress{Elapsed: time.Duration(max(0, now-start)), Sent: c.Done.Load(), Failed: c.Failed.Load(), Alive: int(c.Alive.Load()),
		Lateness: time.Duration(c.Worst.Swap(0)), Measuring: now >= c.Window.From.Load()}
}
