package stackload

import (
	"context"

	"weir/lab/internal/oneloop"
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
	if c.Operation != Ping {
		if err := checkCongestion(c.Congestion); err != nil {
			return Report{}, err
		}
	}
	s, err := oneloop.NewState(oneloop.Setup{Steered: ev.Commands != nil, CPUs: c.CPUs, Files: max(c.Connections, 2*c.Processes), Histograms: c.Histograms})
	if err != nil {
		return Report{}, err
	}
	defer s.End()
	w, err := newWork(ctx, c, s)
	if err != nil {
		return Report{}, err
	}
	defer w.close()
	err = w.offer(ctx, ev)
	return makeReport(c, s, w.found()), err
}

// work is an operation, as its controller uses it.
type work interface {
	offer(ctx context.Context, ev load.Events) error // runs it, as oneloop.State.Run
	found() *counts                                  // returns the figures, after offer
	close()                                          // closes the sockets, after offer
}

// newWork returns the work for an operation.
func newWork(ctx context.Context, c Config, s *oneloop.State) (work, error) {
	switch {
	case c.Processes > 0:
		return newProcesses(c, s)
	case c.Operation == Ping:
		return newPinger(c, s)
	}
	return newLoop(ctx, c, s)
}

// makeReport returns the report of an operation that has ended.
func makeReport(c Config, s *oneloop.State, f *counts) Report {
	span := s.Length()
	switch c.Operation {
	case In, Out:
		s.Messages, span = s.Bytes/bulkMessage, f.span
	case Connect:
		s.Bytes = s.Messages * connectBytes
	case RR:
		s.Bytes = s.Messages * 2
	case Ping:
		s.Bytes = s.Messages * 2 * int64(c.Size)
	}
	if s.Answered, s.FailedIn = s.Messages, f.lost; c.Operation != Ping {
		s.Offered = s.Messages
	}
	r := Report{Operation: c.Operation, Address: c.server(), Connections: c.Connections, Congestion: c.Congestion, Flows: c.Flows, Processes: c.Processes,
		Rate: c.Rate, Size: c.Size, Together: c.Together, TimeoutNS: int64(c.Timeout),
		Report: s.Report(), Opened: f.opened, Confirmed: f.confirmed, OperationUS: s.Latency.Times(), MeanUS: s.Latency.MeanUS(), ConnectUS: f.connects.Times(),
		Lost: f.lost, Unstamped: f.unstamped, SegmentsOut: f.segments.out, SegmentsIn: f.segments.in, Retransmitted: f.segments.again, ChildrenCPUNS: f.childrenCPU}
	if r.SetRates(span); span > 0 {
		r.GbitS = float64(r.Bytes) * 8 / float64(span)
	}
	if c.Operation == Connect {
		if note := portsHere(c.Address).note(r.MessageRate); note != "" {
			r.Notes = append(r.Notes, note)
		}
	}
	return r
}
