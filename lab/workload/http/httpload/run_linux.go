package httpload

import (
	"context"
	"errors"
	"fmt"

	"weir/lab/internal/oneloop"
	"weir/lab/internal/raw"
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
	if err := errors.Join(raw.BindCPUs(c.CPUs), raw.RaiseFileLimit(c.Connections)); err != nil {
		return Report{}, err
	}
	tlsConfig := c.tlsConfig()
	addr, secured, want, err := probeServer(ctx, c, tlsConfig)
	if err != nil {
		return Report{}, err
	}
	defer raw.QuietRuntime()()
	s := oneloop.NewState(ev.Commands != nil)
	l, err := newLoop(c, s, addr, tlsConfig, want)
	if err != nil {
		return Report{}, err
	}
	defer l.close()
	err = oneloop.Run(ctx, s, ev, l.run)
	if s.Err != nil {
		return Report{}, err
	}
	report := l.report()
	if report.TLS = secured; secured != nil {
		secured.Handshakes, secured.Resumed, secured.HandshakeUS = l.handshakes, l.resumed, l.handshakeTimes.Times()
	}
	return report, err
}

// report returns the report of a loop that has ended.
func (l *loop) report() Report {
	window := l.Length()
	rep := Report{URL: l.URL, Address: l.addr, Connections: l.Connections, Rate: l.Rate, Pattern: l.pattern(), KeepAlive: !l.Close, TimeoutNS: int64(l.timeout()),
		Offered: l.offered, Attempted: l.attempted, Messages: l.messages, Answered: l.answeredDue, Failed: l.failedIn, Unfinished: l.unfinished,
		Bytes: l.bytes, BodyBytes: l.bodyBytes, Encoded: l.encoded, Behind: l.behind, WarmMessages: l.warmMessages, Opened: l.opened,
		LatenessUS: l.lateness.Percentiles(), LatencyUS: l.latency.Percentiles(), LatencyMeanUS: l.latency.MeanUS(), DueUS: l.latency.Times(),
		ConnectUS: l.connects.Times(), WaitUS: l.waits.Times(), ProcessingUS: l.processing.Times(), TotalUS: l.totals.Times(),
		Errors: map[string]int64{}, Details: l.fails.Details, Interrupt: l.endedEarly,
		CPUNS: l.CPU(), RunQueueNS: l.RunQueue(), WindowNS: window, StartedNS: l.From}
	for kind, n := range l.fails.Kinds {
		rep.Errors[kind] = n
	}
	if !l.open {
		rep.Offered, rep.Answered = l.attempted, l.messages
		rep.LatencyUS, rep.LatencyMeanUS = l.totals.Percentiles(), l.totals.MeanUS()
	}
	if l.errorLimitReached() {
		rep.Stopped = fmt.Sprintf("after %d errors", l.Failed.Load())
	}
	if rep.Offered > 0 {
		rep.AchievedRatio = float64(rep.Messages) / float64(rep.Offered)
	}
	if window > 0 {
		rep.OfferedRate = float64(rep.Offered) * 1e9 / float64(window)
		rep.MessageRate = float64(rep.Messages) * 1e9 / float64(window)
	}
	return rep
}
