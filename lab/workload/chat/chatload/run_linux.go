package chatload

import (
	"context"
	"errors"

	"weir/lab/internal/oneloop"
	"weir/lab/internal/raw"
	"weir/lab/load"
)

// Run offers the load of c to its server and reports the outcome. It returns when the measured
// window is over and its last delivery has arrived or timed out, when it receives a stop command,
// or when ctx ends, in that case with an error and the report so far. An error that Is
// load.ErrUsage is about c. Missing or wrong deliveries are not an error of Run: they are in the
// report. In every case all connections are closed and all goroutines have ended.
//
// The order is: connect and join, fill the room for a replay, send and measure, wait for the last
// deliveries, close.
func Run(ctx context.Context, c Config, ev load.Events) (Report, error) {
	if err := c.Check(ev.Commands != nil); err != nil {
		return Report{}, err
	}
	if err := errors.Join(raw.BindCPUs(c.CPUs), raw.RaiseFileLimit(c.Members+c.Idle+1)); err != nil {
		return Report{}, err
	}
	server, err := oneloop.FindServer(ctx, c.Target, false)
	if err != nil {
		return Report{}, err
	}
	defer raw.QuietRuntime()()
	s, err := oneloop.NewState(ev.Commands != nil)
	if err != nil {
		return Report{}, err
	}
	defer s.Poll.Close()
	s.Histograms = c.Histograms
	s.Server = server
	l := newLoop(c, s)
	defer l.close()
	err = s.Run(ctx, ev, l, c.Members+c.Idle, c.Duration)
	return l.report(), err
}
