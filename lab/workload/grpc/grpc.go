// Package grpc is the workload of unary gRPC calls over HTTP/2.
//
// A call is a request of package http with a message as its body: loads are converted to loads of
// described requests, and share their TLS, their generator, their contract and the judgement of
// their trials. This package has the settings and the words of calls.
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
	"weir/lab/workload/http/httpload"
)

// Name is the name of the workload.
const Name = "grpc"

// Workload is the workload of unary calls.
type Workload struct{}

// visitors is how many connections at once the contract of the greeting opens.
const visitors = 64

// Traits implements workload.Workload.
func (Workload) Traits() workload.Traits {
	return workload.Traits{GeneratorCores: 1, MaxKnee: func(int) float64 { return httpload.MaxRate }}
}

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
	if err != nil {
		return nil, err
	}
	return session{under.(workload.Splitter)}, nil
}

// session is a session of requests, whose methods get each load as one of requests. A split load
// remains one of calls.
type session struct{ workload.Splitter }

// requests returns the load as one of described requests.
func requests(l workload.Load) workload.Load { return l.(*Load).requests() }

// Start implements workload.Session.
func (v session) Start(ctx context.Context, s *subject.Subject, l workload.Load) (*workload.Running, error) {
	return v.Splitter.Start(ctx, s, requests(l))
}

// Args implements workload.Session.
func (v session) Args(l workload.Load, c workload.Cell, to workload.Target) []string {
	return v.Splitter.Args(requests(l), c, to)
}

// Fill implements workload.Session.
func (v session) Fill(t *result.Trial, l workload.Load, m workload.Measured) error {
	return v.Splitter.Fill(t, requests(l), m)
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
	wrong, slow = v.Splitter.Failures(t, ev)
	for _, kind := range overloadStatuses {
		slow.Add(busy[kind] > 0 && t.Pattern == result.Closed, result.LoadError+": %s, %d times", kind, busy[kind])
	}
	return wrong, slow
}
