package lab

import (
	"fmt"
	"io"
	nethttp "net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"weir/lab/report"
	"weir/lab/workload"
	"weir/lab/workload/grpc"
	"weir/lab/workload/http"
)

// serveCalls is a gRPC server that answers each call by its own message; with a fault each has the
// status INTERNAL. The test binary runs it with the arguments "calls ADDR FAULT".
func serveCalls(addr, fault string) {
	status := "0"
	if fault == "fails" {
		status = "13"
	}
	server := &nethttp.Server{Addr: addr, Protocols: new(nethttp.Protocols), ReadHeaderTimeout: time.Minute, Handler: answerCalls(status)}
	server.Protocols.SetUnencryptedHTTP2(true)
	fmt.Fprintln(os.Stderr, server.ListenAndServe())
	os.Exit(1)
}

// answerCalls answers each gRPC call by its own message and a status.
func answerCalls(status string) nethttp.HandlerFunc {
	return func(w nethttp.ResponseWriter, r *nethttp.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Trailer", "Grpc-Status")
		_, _ = io.Copy(w, r.Body)
		w.Header().Set("Grpc-Status", status)
	}
}

// TestARunOfCallsMeasuresServersGivenByCommands: servers take part without a file, in an open and
// in a closed loop, and one whose calls fail is a failure.
func TestARunOfCallsMeasuresServersGivenByCommands(t *testing.T) {
	b := newWebBench(t, grpc.Name, []workload.Load{
		&grpc.Load{Common: workload.Common{Name: "rate", Rate: 50, Cold: true}, Method: "/a.B/C", Size: 100, Streams: 3},
		&grpc.Load{Common: workload.Common{Name: "loop", Cold: true}, Method: "/a.B/C", Message: "0a0141", Reply: "0a0141"},
	})
	for _, fault := range []string{"works", "fails"} {
		b.options.SubjectCommands = append(b.options.SubjectCommands, fmt.Sprintf("%s=%q calls {addr} %s", fault, os.Args[0], fault))
	}
	found, err := b.run(t.Context(), nil)
	must(t, err)
	answers := int64(0)
	for _, trial := range found.Trials {
		why := strings.Join(trial.FailedBecause, "; ")
		switch {
		case trial.Subject == "fails" && !strings.Contains(why, "load error: grpc INTERNAL, "):
			t.Errorf("%s under %s: got failures %q, want the status INTERNAL", trial.Subject, trial.Load, why)
		case trial.Subject == "works" && (why != "" || trial.HTTP == nil || trial.Messages > 0 && trial.CPUUSPerMessage <= 0):
			t.Errorf("%s under %s: got %d calls at %v us of CPU, http %+v, failures %q; want CPU of the calls and no failures", trial.Subject, trial.Load, trial.Messages, trial.CPUUSPerMessage, trial.HTTP, why)
		case trial.Subject == "works":
			answers += trial.Messages
		}
	}
	if answers == 0 {
		t.Error("got no answered calls, want some")
	}
	must(t, report.Write(b.options.Out, found, ReportKind(found.Plan.Workload)))
}

// TestCallsByTLSAreALoad: a server that runs already is called by TLS, with any certificate.
func TestCallsByTLSAreALoad(t *testing.T) {
	s := httptest.NewUnstartedServer(answerCalls("0"))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	b := newBench(t)
	b.experiment.Workload, b.experiment.Patterns, b.experiment.TimeLimit = grpc.Name, nil, 1
	b.experiment.Loads = []workload.Load{&grpc.Load{Common: workload.Common{Name: "rate", Rate: 50}, Method: "/a.B/C", Message: "0a0141", Reply: "0a0141", Encryption: http.Encryption{TLS: true, Insecure: true}}}
	b.options.Targets = []string{"mine=" + s.URL}
	found, err := b.run(t.Context(), nil)
	must(t, err)
	if trial := found.Trials[0]; trial.Messages == 0 || len(trial.FailedBecause) > 0 || !strings.HasPrefix(trial.HTTP.TLS, "TLS 1.3, ") {
		t.Errorf("got %d answers, failures %q and TLS %q; want answers by TLS 1.3", trial.Messages, trial.FailedBecause, trial.HTTP.TLS)
	}
}

// TestTheKneeOfCallsIsFound: a run searches it, and its report shows it.
func TestTheKneeOfCallsIsFound(t *testing.T) {
	s := httptest.NewUnstartedServer(answerCalls("0"))
	s.Config.Protocols = new(nethttp.Protocols)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	defer s.Close()
	b := newBench(t)
	e := b.experiment
	e.Workload, e.Patterns, e.Knee = grpc.Name, nil, "p99 < 1s"
	e.Duration, e.TimeLimit = workload.Duration(200*time.Millisecond), workload.Duration(time.Second)
	e.Loads = []workload.Load{&grpc.Load{Common: workload.Common{Name: "calls", Rate: 50}, Method: "/a.B/C", Streams: 2}}
	b.options.Targets = []string{"mine=" + s.URL}
	found, err := b.run(t.Context(), nil)
	must(t, err)
	if len(found.KneeProbes) == 0 || found.KneeProbes[0].Rate != 50*float64(e.Connections[0]) || len(found.Knees) != 1 {
		t.Errorf("got the probes %+v and knees %+v, want a first probe at the load's rate, and one knee", found.KneeProbes, found.Knees)
	}
	must(t, report.Write(b.options.Out, found, ReportKind(found.Plan.Workload)))
}
