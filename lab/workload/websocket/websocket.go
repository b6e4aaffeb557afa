// Package websocket is the workload of WebSocket messages, which a server answers one by one.
//
// A message is due at its time, and its latency counts from then to the end of its answer, which is
// its echo or any message. The settings, the contract and the words are of this package; the TLS of
// loads and the judgement of trials are those of HTTP requests.
//
// # Limitations
//
// One answer for each message, in order, and none without a message. No extensions, so no
// compression.
package websocket

import (
	"context"
	"encoding/json"
	"strconv"

	"weir/lab/contract"
	"weir/lab/internal/certificate"
	"weir/lab/report"
	"weir/lab/result"
	"weir/lab/subject"
	"weir/lab/workload"
	"weir/lab/workload/http"
	"weir/lab/workload/http/wsload"
)

// Name is the name of the workload.
const Name = "websocket"

// Workload is the workload of WebSocket messages.
type Workload struct{}

// Traits implements workload.Workload.
func (Workload) Traits() workload.Traits {
	return workload.Traits{GeneratorCores: 1, MaxKnee: func(int) float64 { return wsload.MaxRate }}
}

// Report implements workload.Workload.
func (Workload) Report() report.Kind { return Report{} }

// Contract implements workload.Workload: the checks of a server that echoes.
func (Workload) Contract() contract.Kind {
	return (&Load{Path: "/", Size: defaultSize, Echo: true}).Contract(1)
}

// Open implements workload.Workload. It makes a certificate if a load needs one.
func (Workload) Open(_ context.Context, s *workload.Site, loads []workload.Load) (workload.Session, error) {
	v := &session{Servers: workload.Servers{Site: s}}
	var encryptions []*http.Encryption
	for _, l := range loads {
		encryptions = append(encryptions, &l.(*Load).Encryption)
	}
	var err error
	v.certificate, err = http.MakeCertificate(s, encryptions)
	return v, err
}

type session struct {
	workload.Servers
	certificate certificate.Files
}

// Start implements workload.Session.
func (v *session) Start(ctx context.Context, s *subject.Subject, l workload.Load) (*workload.Running, error) {
	var p subject.Params
	if l.(*Load).TLS {
		p.Cert, p.Key = v.certificate.Cert, v.certificate.Key
	}
	return v.StartServer(ctx, s, p)
}

// Args implements workload.Session.
func (v *session) Args(l workload.Load, c workload.Cell, to workload.Target) []string {
	of := l.(*Load)
	args := []string{"ws", "--steer", "--connections", strconv.Itoa(c.Connections)}
	if of.Rate > 0 {
		args = append(args, "--rate", strconv.FormatFloat(of.Rate*float64(c.Connections), 'f', -1, 64))
	}
	if of.Arrivals != "" {
		args = append(args, "--pattern", of.Arrivals, "--seed", strconv.FormatUint(to.Seed, 10))
	}
	if of.Message != "" {
		args = append(args, "--message="+of.Message)
	} else {
		args = append(args, "--size", strconv.Itoa(of.Size))
	}
	if of.Text {
		args = append(args, "--text")
	}
	if !of.Echo {
		args = append(args, "--any")
	}
	for _, field := range of.Headers {
		args = append(args, "--header="+field)
	}
	if !of.Uses(to) {
		return append(args, "ws://"+to.Addr+of.Path)
	}
	return append(append(args, of.Encryption.Args(v.certificate, to)...), "wss://"+to.Addr+of.Path)
}

// Fill implements workload.Session.
func (v *session) Fill(t *result.Trial, _ workload.Load, m workload.Measured) error {
	var r wsload.Report
	if err := json.Unmarshal(m.Report, &r); err != nil {
		return err
	}
	http.FillHTTP(t, result.HTTP{Attempted: r.Offered, Answered: r.Answered, Failed: r.Failed, BodyBytes: r.ReceivedBytes, LatencyMeanUS: r.LatencyMeanUS, Errors: r.Errors}, m.Subject.Subject, r.TLS)
	return nil
}

// overloadErrors are the errors that an overloaded server causes. At a fixed rate they are a
// finding and not a failure.
var overloadErrors = []string{"connect", "timeout", "reset", "closed", "close", "lost"}

// Failures implements workload.Session.
func (*session) Failures(t *result.Trial, ev workload.Evidence) (wrong, slow workload.Findings) {
	return http.FailuresOf(t, ev, overloadErrors)
}

// Rejections implements workload.Session.
func (*session) Rejections(t *result.Trial, ev workload.Evidence, _ bool) workload.Findings {
	return http.RejectionsOf(t, ev)
}
