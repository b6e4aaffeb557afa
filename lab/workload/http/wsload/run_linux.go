package wsload

import (
	"context"
	"errors"
	"fmt"

	"weir/lab/internal/oneloop"
	"weir/lab/load"
)

// Run offers the load of c to its server and reports the outcome. It returns when the measured
// window is over and its last echo has come, on a stop command, when every connection is lost, or
// when ctx is done; in the last two cases with an error and a partial report. An error that Is
// load.ErrUsage means that c is invalid. Failed messages are part of the report, not an error. When
// Run returns, all its connections are closed and all its goroutines have ended.
func Run(ctx context.Context, c Config, ev load.Events) (Report, error) {
	if err := c.Check(ev.Commands != nil); err != nil {
		return Report{}, err
	}
	server, err := oneloop.FindServer(ctx, c.address(), false)
	if err != nil {
		return Report{}, err
	}
	s, err := oneloop.NewState(oneloop.Setup{Steered: ev.Commands != nil, CPUs: c.CPUs, Files: c.Connections, Histograms: c.Histograms})
	if err != nil {
		return Report{}, err
	}
	defer s.End()
	s.Server = server
	l := newLoop(c, s)
	defer l.close()
	err = s.Run(ctx, ev, l, c.Connections, c.Duration)
	unfinished := l.unfinished()
	l.sayGoodbye()
	report := l.report()
	report.Unfinished = unfinished
	if errors.Is(err, oneloop.ErrAllLost) {
		err = fmt.Errorf("%w: %s", err, report.Trouble())
	}
	return report, err
}

// report returns the report of a loop that has ended.
func (l *loop) report() Report {
	r := Report{URL: l.URL, Address: l.Server.Address, Connections: l.Connections, Rate: l.Rate, Pattern: l.pattern(), Size: l.Size, Text: l.Text, Echo: l.Echo,
		TimeoutNS: int64(l.timeout()), Report: l.State.Report(), Sent: l.sent, Received: l.received, ReceivedBytes: l.receivedBytes, Pings: l.pings, Unclosed: l.unclosed,
		ConnectUS: l.connects.Times(), UpgradeUS: l.upgrades.Times()}
	if r.TLS = l.secured; r.TLS != nil {
		r.TLS.Handshakes, r.TLS.Resumed, r.TLS.HandshakeUS = l.handshakes, l.resumed, l.handshakeTimes.Times()
	}
	if l.Echo {
		r.EchoUS = l.Latency.Times()
	}
	return r
}
