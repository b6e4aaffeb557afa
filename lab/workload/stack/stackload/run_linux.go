package stackload

import (
	"context"
	"errors"

	"weir/lab/internal/oneloop"
	"weir/lab/internal/raw"
	"weir/lab/load"
)

// Run runs the operation of c on its stack and reports the outcome. It returns when the measured
// window is over and the operations under way are complete, on a stop command, or when ctx is done,
// then with an error and a partial report. An error that Is load.ErrUsage means that c is invalid.
// Failed operations are part of the report, not an error. When Run returns, all its connections are
// closed, and all its processes and goroutines have ended.
func Run(ctx context.Context, c Config, ev load.Events) (Report, error) {
	if err := c.Check(ev.Commands != nil); err != nil {
		return Report{}, err
	}
	c = c.withDefaults()
	if err := errors.Join(raw.BindCPUs(c.CPUs), raw.RaiseFileLimit(max(c.Connections, 2*c.Processes))); err != nil {
		return Report{}, err
	}
	if c.Operation != Ping {
		if err := checkCongestion(c.Congestion); err != nil {
			return Report{}, err
		}
	}
	s := oneloop.NewState(ev.Commands != nil)
	w, err := newWork(ctx, c, s)
	if err != nil {
		return Report{}, err
	}
	defer w.close()
	defer raw.QuietRuntime()()
	err = oneloop.Run(ctx, s, ev, w.run)
	if s.Err != nil {
		return Report{}, err
	}
	return makeReport(c, s, w.found()), err
}

// work is an operation, as its controller uses it.
type work interface {
	run()           // runs in its own goroutine until the window is over
	found() *counts // returns the figures; call it after run
	close()         // closes the sockets; call it after run
}

// newWork returns the work for an operation.
func newWork(ctx context.Context, c Config, s *oneloop.State) (work, error) {
	switch {
	case c.Processes > 0:
		return newProcesses(c, s)
	case c.Operation == Ping:
		return newPinger(c, s)
	case c.Operation == Connect:
		one, err := raw.NewDialer().DialContext(ctx, "tcp", c.server())
		if err != nil {
			return nil, raw.DialError(c.server(), err)
		}
		one.Close() //nolint:errcheck // it showed that the service listens
	}
	return newLoop(c, s)
}

func (l *loop) found() *counts { return &l.counts }

// makeReport returns the report of an operation that has ended.
func makeReport(c Config, s *oneloop.State, f *counts) Report {
	r := Report{Operation: c.Operation, Address: c.server(), Connections: c.Connections, Congestion: c.Congestion, Flows: c.Flows, Processes: c.Processes,
		Rate: c.Rate, Size: c.Size, Together: c.Together, TimeoutNS: int64(c.Timeout),
		Offered: f.offered, Messages: f.messages, Bytes: f.bytes, WarmMessages: f.warmMessages, Opened: f.opened, Confirmed: f.confirmed,
		LatencyUS: f.times.Percentiles(), OperationUS: f.times.Times(), ConnectUS: f.connects.Times(), LatenessUS: f.lateness.Percentiles(),
		Lost: f.lost, Unstamped: f.unstamped, SegmentsOut: f.segments.out, SegmentsIn: f.segments.in, Retransmitted: f.segments.again,
		Errors: map[string]int64{}, Details: f.fails.Details, Interrupt: f.endedEarly,
		CPUNS: s.CPU(), ChildrenCPUNS: f.childrenCPU, RunQueueNS: s.RunQueue(), WindowNS: s.Length(), StartedNS: s.From}
	for kind, n := range f.fails.Kinds {
		r.Errors[kind] = n
	}
	r.MeanUS = r.OperationUS.Mean
	span := r.WindowNS
	switch c.Operation {
	case In, Out:
		r.Messages, span = r.Bytes/bulkMessage, f.span
	case Connect:
		r.Bytes = r.Messages * connectBytes
	case RR:
		r.Bytes = r.Messages * 2
	case Ping:
		r.Bytes = r.Messages * 2 * int64(c.Size)
	}
	if c.Operation != Ping {
		r.Offered = r.Messages
	}
	if r.Offered > 0 {
		r.AchievedRatio = float64(r.Messages) / float64(r.Offered)
	}
	if span > 0 {
		r.OfferedRate, r.MessageRate = float64(r.Offered)*1e9/float64(span), float64(r.Messages)*1e9/float64(span)
		r.GbitS = float64(r.Bytes) * 8 / float64(span)
	}
	if c.Operation == Connect {
		if note := portsHere(c.Address).note(r.MessageRate); note != "" {
			r.Notes = append(r.Notes, note)
		}
	}
	return r
}
