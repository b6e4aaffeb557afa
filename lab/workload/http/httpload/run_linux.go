package httpload

import (
	"context"
	"fmt"

	"weir/lab/internal/oneloop"
	"weir/lab/internal/tally"
	"weir/lab/load"
)

// Run offers the load of c to its server and reports the outcome. It returns when the measured
// window is over and its last request is complete, on a stop command, or when ctx is done, then
// with an error and a partial report. An error that Is load.ErrUsage means that c is invalid.
// Failed requests are part of the report, not an error. When Run returns, all its connections are
// closed and all its goroutines have ended.
//
// It first requests the expected body once, then opens all connections, offers the load, waits for
// the last responses, and closes.
func Run(ctx context.Context, c Config, ev load.Events) (Report, error) {
	if err := c.Check(ev.Commands != nil); err != nil {
		return Report{}, err
	}
	tlsConfig := c.tlsConfig()
	requests := c.prepare()
	server, secured, err := probeServer(ctx, c, tlsConfig, requests)
	if err != nil {
		return Report{}, err
	}
	s, err := oneloop.NewState(oneloop.Setup{Steered: ev.Commands != nil, CPUs: c.CPUs, Files: c.Connections, Histograms: c.Histograms})
	if err != nil {
		return Report{}, err
	}
	defer s.End()
	s.Server = server
	l := newLoop(c, s, tlsConfig, requests)
	defer l.close()
	before := c.Connections
	if c.Close {
		before = 0
	}
	err = s.Run(ctx, ev, l, before, c.Duration)
	return l.report(secured), err
}

// report returns the report of a loop that has ended.
func (l *loop) report(secured *TLSReport) Report {
	if !l.open {
		l.Offered, l.Answered, l.Latency = l.attempted, l.Messages, l.totals
	}
	streams := 0
	if l.HTTP2 {
		streams = max(l.Streams, 1)
	}
	rep := Report{URL: l.URL, Address: l.Server.Address, Connections: l.Connections, Rate: l.Rate, Pattern: l.pattern(), KeepAlive: !l.Close, Described: len(l.Mix), Streams: streams, TimeoutNS: int64(l.timeout()),
		Report: l.State.Report(), Attempted: l.attempted, Unfinished: l.unfinished(), BodyBytes: l.bodyBytes, Encoded: l.encoded, Opened: l.opened,
		ConnectUS: l.connects.Times(), WaitUS: l.waits.Times(), ProcessingUS: l.processing.Times(), TotalUS: l.totals.Times(), TLS: secured}
	if len(l.mixer.requests) > 1 {
		for _, r := range l.mixer.requests {
			rep.Mix = append(rep.Mix, r.report.finished())
		}
	}
	if l.open {
		rep.DueUS = l.Latency.Times()
	}
	if secured != nil {
		secured.Handshakes, secured.Resumed, secured.HandshakeUS = l.handshakes, l.resumed, l.handshakeTimes.Times()
	}
	if l.State.Histograms {
		for name, d := range map[string]tally.Distribution{"connect": l.connects, "wait": l.waits, "processing": l.processing, "total": l.totals, "handshake": l.handshakeTimes} {
			rep.SetHistogram(name, d)
		}
	}
	if l.errorLimitReached() {
		rep.Stopped = fmt.Sprintf("after %d errors", l.Failed.Load())
	}
	return rep
}
