// Package stack is the workload of operations on TCP/IP stacks, which are no servers: each gets a
// network of its own, and the kernel at its other end is the peer.
//
// # Limitations
//
// Linux and root only.
package stack

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"weir/lab/contract"
	"weir/lab/report"
	"weir/lab/result"
	"weir/lab/subject"
	"weir/lab/workload"
	"weir/lab/workload/stack/stackload"
)

// Workload is the workload stack.
type Workload struct{}

// Traits implements workload.Workload.
func (Workload) Traits() workload.Traits {
	return workload.Traits{GeneratorCores: 1}
}

// Report implements workload.Workload.
func (Workload) Report() report.Kind { return Report{} }

// Contract implements workload.Workload.
func (Workload) Contract() contract.Kind { return Contract }

// Open implements workload.Workload. It checks, before anything is built, that networks can be
// created for the trials. It lets both ends use all cores.
func (Workload) Open(_ context.Context, s *workload.Site, _ []workload.Load) (workload.Session, error) {
	if s.Targets || s.InNamespaces() {
		return nil, errors.New("lab: a TCP/IP stack runs on a device that the lab makes for each trial: leave --target and --veth out")
	}
	var err error
	if s.Server, s.Load, s.SharedCores, err = s.Placements(0); err != nil {
		return nil, err
	}
	n, err := makeNetwork(&subject.Subject{Name: "a stack", Network: "tap"})
	if err != nil {
		return nil, err
	}
	return session{s}, n.Close()
}

type session struct{ site *workload.Site }

// Close implements workload.Session: the trials share nothing.
func (session) Close() error { return nil }

// Args implements workload.Session. The peer's congestion control is set on each of its sockets,
// because a namespace inherits the host's, which may differ from the stacks'.
func (session) Args(l workload.Load, c workload.Cell, to workload.Target) []string {
	of := l.(*Load)
	args := []string{"stack", of.Operation, to.Addr, "--steer"}
	n := strconv.Itoa(c.Connections)
	switch {
	case of.Processes:
		return append(args, "--processes", n)
	case of.Operation == result.OperationPing:
		return append(args, "--flows", n, "--rate", strconv.FormatFloat(of.Rate*float64(c.Connections), 'f', -1, 64))
	}
	return append(args, "--connections", n, "--congestion", stackload.DefaultCongestion)
}

// Fill implements workload.Session. Unanswered operations count as lost, not as a fault of the
// generator.
func (session) Fill(t *result.Trial, _ workload.Load, m workload.Measured) error {
	var g stackload.Report
	if err := json.Unmarshal(m.Report, &g); err != nil {
		return err
	}
	o := m.Subject.Own.(*started)
	t.Stack = &result.OnStack{Operation: g.Operation, Congestion: g.Congestion, MeanUS: g.MeanUS, GbitS: g.GbitS, Lost: g.Lost,
		SegmentsOut: g.SegmentsOut, SegmentsIn: g.SegmentsIn, Retransmitted: g.Retransmitted,
		BarePSSKB: o.barePSS >> 10, Bare: o.bareGC, Before: m.Before, After: m.After}
	if g.Operation == result.OperationPing {
		t.Stack.Due = g.Offered
	} else {
		t.OfferedRate = 0
	}
	t.AchievedRatio = 1
	return nil
}

// Failures implements workload.Session.
func (session) Failures(t *result.Trial, ev workload.Evidence) (wrong, slow workload.Findings) {
	return workload.MessageFailures(t, ev)
}

// Rejections implements workload.Session. The generator is the peer, so it may be what limits a
// closed loop.
func (session) Rejections(t *result.Trial, _ workload.Evidence, onTime bool) workload.Findings {
	return workload.LoadShort(t, onTime)
}
