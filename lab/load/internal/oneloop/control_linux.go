package oneloop

import (
	"context"
	"errors"
	"time"

	"weir/lab/load"
	"weir/lab/load/internal/tally"
)

// Run runs the loop in a goroutine of its own, tells its events and serves the commands until it
// has ended and nobody wants its connections any more. A loop closes State's channels; when it has
// failed, or ctx was done, there is an error.
func Run(ctx context.Context, s *State, ev load.Events, loop func()) error {
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
	commands                <-chan load.Command // nil while none is served
	toldBegun, toldMeasured bool
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
				c.hold(ctx)
			}
			return ctx.Err()
		case cmd, ok := <-c.commands:
			c.obey(cmd, ok)
		case <-ticks:
			if c.toldBegun {
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

// begun tells that the load begins, once. Commands are served from then on.
func (c *controller) begun() {
	if c.toldBegun {
		return
	}
	c.toldBegun, c.commands = true, c.Commands
	call(c.Events.Connected, c.State.Connected.Load())
	call(c.Sending, c.Start.Load())
	if !c.Steered {
		call(c.Measuring, c.Start.Load())
	}
}

// measured tells that the window is over, if there was one, once.
func (c *controller) measured() {
	c.begun()
	if !c.toldMeasured && c.From != 0 {
		call(c.Measured, c.To)
	}
	c.toldMeasured = true
}

// obey carries out a command, or the end of commands. Once the window is over, it only ends the
// hold.
func (c *controller) obey(cmd load.Command, ok bool) {
	w := c.Window
	measuring := w.To.Load() != tally.Unset
	switch {
	case c.toldMeasured, !ok && measuring:
		c.commands = nil
	case !ok, cmd.Measure <= 0:
		c.commands = nil
		c.Stop.Store(true)
	case !measuring:
		from := max(c.Clock.Now()+notice, c.Start.Load())
		w.To.Store(from + int64(cmd.Measure))
		w.From.Store(from)
		time.Sleep(time.Duration(from - c.Clock.Now()))
		call(c.Measuring, from)
	}
}

// hold keeps a steered run's connections open and silent after its window, for whoever steers to
// look at the server as it was, until the next command or the end of commands.
func (c *controller) hold(ctx context.Context) {
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
