package chat

import (
	"context"
	"errors"

	"weir/lab/load"
	"weir/lab/load/internal/oneloop"
	"weir/lab/load/internal/raw"
)

// errAllLost is the end of a run whose server ended every connection.
var errAllLost = errors.New("load: every connection was lost before the end")

// Run offers the load of c to its server and reports what came of it. It returns when the measured
// window is over and its last delivery has come or is given up, when a command says stop, or when
// ctx is done; then with an error beside what was found until then. An error that Is load.ErrUsage
// is c's fault. Deliveries that are missing or wrong are no error of Run: they stand in the report.
// Whatever happens, every connection is closed and every goroutine has ended.
//
// The order: connect and join, fill the room for a replay, talk and measure, wait for the last
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
	defer raw.Settle()()
	s := oneloop.NewState(ev.Commands != nil)
	l, err := newLoop(c, s, addr)
	if err != nil {
		return Report{}, err
	}
	defer l.close()
	err = oneloop.Run(ctx, s, ev, l.run)
	return l.report(), err
}
