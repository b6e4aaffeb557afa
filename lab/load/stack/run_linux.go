package stack

import (
	"context"
	"errors"

	"weir/lab/load"
	"weir/lab/load/internal/oneloop"
	"weir/lab/load/internal/raw"
)

// Run carries out the operation of c against its stack and reports what came of it. It returns when
// the measured window is over and what was under way is decided, when a command says stop, or when
// ctx is done; then with an error beside what was found until then. An error that Is load.ErrUsage
// is c's fault. Operations that fail are no error of Run: they stand in the report. Whatever
// happens, every connection is closed, every process and every goroutine has ended.
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

// work is what a loop is to its controller.
type work interface {
	run()           // in a goroutine of its own, until the window is over
	found() *counts // once run has ended
	close()         // once run has ended
}

// newWork makes what carries out the operation.
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
		one.Close() //nolint:errcheck // it has said that somebody is there
	}
	return newLoop(c, s)
}

func (l *loop) found() *counts { return &l.counts }

// makeReport is what a loop found, once it has ended.
func makeReport(c Config, s *oneloop.State, f *counts) Report {
	r := Report{Operation: c.Operation, Address: c.server(), Connections: c.Connections, Congestion: c.Congestion, Flows: c.Flows, Processes: c.Processes,
		Rate: c.Rate, Size: c.Size, Together: c.Together, TimeoutNS: int64(c.Timeout),
		Offered: f.offered, Messages: f.messages, Bytes: f.bytes, WarmMessages: f.warm, Opened: f.opened, Confirmed: f.confirmed,
		LatencyUS: f.times.Percentiles(), OperationUS: f.times.Times(), ConnectUS: f.connects.Times(), LatenessUS: f.lateness.Percentiles(),
		Lost: f.lost, Unstamped: f.unstamped, SegmentsOut: f.segments.out, SegmentsIn: f.segments.in, Retransmitted: f.segments.again,
		Errors: map[string]int64{}, Details: f.fails.Details, Interrupt: f.cut,
		CPUNS: s.CPU(), ChildrenCPUNS: f.children, RunQueueNS: s.RunQueue(), WindowNS: s.Length(), StartedNS: s.From}
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
