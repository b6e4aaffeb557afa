package lab

import (
	"fmt"
	"io"
	nethttp "net/http"
	"os"
	"strings"
	"testing"
	"time"

	"weir/lab/report"
	"weir/lab/workload"
	"weir/lab/workload/grpc"
)

// serveCalls is a gRPC server that answers each call by its own message; with a fault each has the
// status INTERNAL. The test binary runs it with the arguments "calls ADDR FAULT".
func serveCalls(addr, fault string) {
	server := &nethttp.Server{Addr: addr, Protocols: new(nethttp.Protocols), ReadHeaderTimeout: time.Minute, Handler: nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Trailer", "Grpc-Status")
		_, _ = io.Copy(w, r.Body)
		status := "0"
		if fault == "fails" {
			status = "13"
		}
		w.Header().Set("Grpc-Status", status)
	})}
	server.Protocols.SetUnencryptedHTTP2(true)
	fmt.Fprintln(os.Stderr, server.ListenAndServe())
	os.Exit(1)
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
