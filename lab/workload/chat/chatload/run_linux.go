package chatload

import (
	"context"
	"errors"

	"weir/lab/internal/oneloop"
	"weir/lab/internal/raw"
	"weir/lab/load"
)

// errAllLost is the error of a run whose server closed every connection.
var errAllLost = errors.New("load: every connection was lost before the end")

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
	conn, err := raw.NewDialer().DialContext(ctx, "tcp", c.Target)
	if err != nil {
		return Report{}, raw.DialError(c.Target, err)
	}
	addr := conn.RemoteAddr().String()
	conn.Close()
	defer raw.QuietRuntime()()
	s := oneloop.NewState(ev.Commands != nil)
	l, err := newLoop(c, s, addr)
	if err != nil {
		return Report{}, err
	}
	defer l.close()
	err = oneloop.Run(ctx, s, ev, l.run)
	return l.report(), err
}
