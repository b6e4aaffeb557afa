package chatload

import (
	"context"

	"weir/lab/internal/oneloop"
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
	server, err := oneloop.FindServer(ctx, c.Target, false)
	if err != nil {
		return Report{}, err
	}
	s, err := oneloop.NewState(oneloop.Setup{Steered: ev.Commands != nil, CPUs: c.CPUs, Files: c.Members + c.Idle + 1, Histograms: c.Histograms})
	if err != nil {
		return Report{}, err
	}
	defer s.End()
	s.Server = server
	l := newLoop(c, s)
	defer l.close()
	err = s.Run(ctx, ev, l, c.Members+c.Idle, c.Duration)
	return l.report(), err
}
