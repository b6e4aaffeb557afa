package streamload

import (
	"context"
	"errors"
	"fmt"

	"weir/lab/internal/oneloop"
	"weir/lab/load"
)

// Run offers the load of c to its target and reports the outcome. It returns when the measured
// window is over and the last echo has arrived, when it receives a stop command, when every
// connection is lost, or when ctx ends. In the last two cases it returns an error together with the
// report so far. An error that Is load.ErrUsage is about c. In every case all connections are
// closed and all goroutines have ended.
//
// The order is: open all connections, start the short ones, send and measure, wait for full
// connections, wait for the echoes, close.
func Run(ctx context.Context, c Config, ev load.Events) (Report, error) {
	if err := c.Check(ev.Commands != nil); err != nil {
		return Report{}, err
	}
	server, err := oneloop.FindServer(ctx, c.Target, c.Connections+c.Idle == 0)
	if err != nil {
		return Report{}, err
	}
	s, err := oneloop.NewState(oneloop.Setup{Steered: ev.Commands != nil, CPUs: c.CPUs, Files: c.Connections + c.Idle, Histograms: c.Histograms})
	if err != nil {
		return Report{}, err
	}
	defer s.End()
	s.Server = server
	l := newLoop(ctx, c, s)
	defer l.close()
	err = s.Run(ctx, ev, l, c.Connections+c.Idle, c.Duration)
	report := l.report()
	if errors.Is(err, oneloop.ErrAllLost) {
		err = fmt.Errorf("%w: %s", err, report.Trouble())
	}
	return report, err
}

// report returns the results of an ended loop. It waits for the short connections in progress.
func (l *loop) report() Report {
	rep := Report{Target: l.Target, Connections: l.Connections, Idle: l.Idle, Pattern: l.pattern(), Rate: l.Rate, Size: l.Size, Bits: l.Bits, Seed: l.Seed,
		Writes: l.writes, Owed: l.owed, Echoed: l.Answered, Discarded: l.discarded}
	if l.FailedIn = l.owed; l.Echo {
		l.FailedIn = l.Offered - l.Answered
	}
	if l.churn != nil {
		short, failures := l.churn.stop(l.From, l.To)
		rep.Churn = &short
		l.Failures.Merge(failures)
	}
	if l.Bits > 0 {
		rep.Rate = l.Bits / 8 / float64(l.Size)
		l.Messages, l.WarmMessages = l.Bytes/int64(l.Size), l.warmBytes/int64(l.Size)
		l.Offered = int64(rep.Rate * float64(l.Connections) * float64(l.Length()) / 1e9)
	}
	rep.Report = l.State.Report()
	rep.GapUS, rep.SpreadUS = l.gaps.Percentiles(), l.spread.Percentiles()
	if l.State.Histograms {
		rep.SetHistogram("gap", l.gaps)
		rep.SetHistogram("spread", l.spread)
		if l.churn != nil {
			rep.SetHistogram(churnHistogram, l.churn.duration)
		}
	}
	if l.Bits > 0 {
		rep.AchievedRatio = load.Ratio(l.Bytes*8e9, int64(l.Bits*float64(l.Connections))*l.Length())
	}
	if l.churn != nil {
		rep.WarmMessages += l.churn.warmConnections
	}
	return rep
}
