// Package grpc is the workload of unary gRPC calls over HTTP/2.
//
// A call is a request of package http with a message as its body: loads are converted to loads of
// described requests, and share their generator and the judgement of their trials. This package has
// the settings, the contract and the words of calls.
//
// # Limitations
//
// Unary calls without compression, of one method a load. Messages are bytes: the lab knows no
// protobuf.
package grpc

import (
	"context"
	"maps"
	"slices"

	"weir/lab/contract"
	"weir/lab/report"
	"weir/lab/result"
	"weir/lab/subject"
	"weir/lab/workload"
	"weir/lab/workload/http"
)

// Name is the name of the workload.
const Name = "grpc"

// Workload is the workload of unary calls.
type Workload struct{}

// Traits implements workload.Workload.
func (Workload) Traits() workload.Traits { return workload.Traits{GeneratorCores: 1} }

// Report implements workload.Workload.
func (Workload) Report() report.Kind { return Report{} }

// Contract implements workload.Workload: the checks of a server of the project's own greeting.
func (Workload) Contract() contract.Kind { return greeting().Contract(visitors) }

// Open implements workload.Workload.
func (Workload) Open(ctx context.Context, s *workload.Site, loads []workload.Load) (workload.Session, error) {
	var converted []workload.Load
	for _, l := range loads {
		converted = append(converted, requests(l))
	}
	under, err := http.Workload{Described: true}.Open(ctx, s, converted)
	return session{under}, err
}

// session is a session of requests, whose methods get each load as one of requests.
type session struct{ workload.Session }

// requests returns the load as one of described requests.
func requests(l workload.Load) workload.Load { return l.(*Load).requests() }

// Start implements workload.Session.
func (v session) Start(ctx context.Context, s *subject.Subject, l workload.Load) (*workload.Running, error) {
	return v.Session.Start(ctx, s, requests(l))
}

// Args implements workload.Session.
func (v session) Args(l workload.Load, c workload.Cell, to workload.Target) []string {
	return v.Session.Args(requests(l), c, to)
}

// Fill implements workload.Session.
func (v session) Fill(t *result.Trial, l workload.Load, m workload.Measured) error {
	return v.Session.Fill(t, requests(l), m)
}

// overloadStatuses are the errors by which a server says that it has too much to do.
var overloadStatuses = []string{"grpc UNAVAILABLE", "grpc RESOURCE_EXHAUSTED", "grpc DEADLINE_EXCEEDED"}

// Failures implements workload.Session. A status that says overload counts as not keeping up, as
// other errors of an overloaded server do: in a closed loop it is a failure, at a rate a finding.
func (v session) Failures(t *result.Trial, ev workload.Evidence) (wrong, slow workload.Findings) {
	rest := maps.Clone(ev.Errors)
	maps.DeleteFunc(rest, func(kind string, _ int64) bool { return slices.Contains(overloadStatuses, kind) })
	busy := ev.Errors
	ev.Errors = rest
	wrong, slow = v.Session.Failures(t, ev)
	for _, kind := range overloadStatuses {
		slow.Add(busy[kind] > 0 && t.Pattern == result.Closed, result.LoadError+": %s, %d times", kind, busy[kind])
	}
	return wrong, slow
}
