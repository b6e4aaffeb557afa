package lab

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net"
	nethttp "net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"weir/lab/report"
	"weir/lab/result"
	"weir/lab/subject"
	"weir/lab/workload"
	"weir/lab/workload/http"
)

// serveWeb is an HTTP server, or one with the fault that kind names. The test binary runs it with
// the arguments "web ADDR WWW SLEEP_MS SLEEP_EVERY KIND".
func serveWeb(addr, www, sleepMS, sleepEvery, kind string) {
	var sleep, every, requests int64
	_, _ = fmt.Sscan(sleepMS, &sleep)
	_, _ = fmt.Sscan(sleepEvery, &every)
	handle := func(w nethttp.ResponseWriter, r *nethttp.Request) {
		n := atomic.AddInt64(&requests, 1)
		if every > 0 && n%every == 0 {
			time.Sleep(time.Duration(sleep) * time.Millisecond)
		}
		body, err := os.ReadFile(filepath.Join(www, r.URL.Path))
		switch {
		case err != nil:
			nethttp.NotFound(w, r)
			return
		case kind == "lies" && n%20 == 0:
			body[100] ^= 1
		case kind == "is slow":
			time.Sleep(30 * time.Millisecond) // of the 20 ms that its load allows
		}
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = z.Write(body)
			_ = z.Close()
			return
		}
		_, _ = w.Write(body)
	}
	server := &nethttp.Server{Addr: addr, Handler: nethttp.HandlerFunc(handle), ReadHeaderTimeout: time.Minute}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	go func() {
		<-ctx.Done()
		server.Close()
	}()
	if err := server.ListenAndServe(); !errors.Is(err, nethttp.ErrServerClosed) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// webRunner returns a runner that is used for its estimates only.
func webRunner(e *Experiment) *Runner {
	r := &Runner{experiment: e, subjects: map[string]contender{}}
	var all []result.Subject
	for _, name := range e.Subjects {
		all = append(all, result.Subject{Name: name})
		r.subjects[name] = contender{Subject: &subject.Subject{Name: name, WarmMessages: 2000}}
	}
	r.plan = NewPlan(e, all, 1)
	return r
}

// newWebBench returns a bench with HTTP servers of the given kinds, under the given loads of a
// workload.
func newWebBench(t *testing.T, name string, loads []workload.Load, kinds ...string) *bench {
	b := newBench(t)
	no := false
	b.experiment.Workload, b.experiment.Patterns, b.experiment.Loads, b.experiment.AAControl = name, nil, loads, &no
	b.experiment.TimeLimit = workload.Duration(1) // no place is retried
	proxy := name == http.Proxy
	for _, kind := range kinds {
		name := "web-" + strings.ReplaceAll(kind, " ", "-")
		b.experiment.Subjects = append(b.experiment.Subjects, name)
		dir := filepath.Join(b.options.Root, "subjects", name)
		must(t, os.MkdirAll(dir, 0o755))
		how := fmt.Sprintf("workloads = [\"page\", \"files\"]\nrun = [%q, \"web\", \"{addr}\", \"{www}\", \"{sleep_ms}\", \"{sleep_every}\", %q]\n", os.Args[0], kind)
		if proxy {
			how = fmt.Sprintf("workloads = [\"proxy\"]\nrun = [%q, \"forward\", \"{addr}\", \"{upstream}\"]\n", os.Args[0])
		}
		must(t, os.WriteFile(filepath.Join(dir, "subject.toml"), fmt.Appendf(nil, "name = %q\nlanguage = \"Go\"\nparadigm = \"goroutine per connection\"\nabout = \"Serves files.\"\n"+
			"%swarm_messages = 10\n", name, how), 0o644))
	}
	return b
}

// TestRunOfRequestsMeasuresBothServers runs a small form of the experiment web: two servers, one
// load whose sleeps limit its rate, one without.
func TestRunOfRequestsMeasuresBothServers(t *testing.T) {
	b := newWebBench(t, "page", []workload.Load{
		&http.Load{Common: workload.Common{Name: "free", Duration: workload.Duration(200 * time.Millisecond)}, NoKeepAlive: true},
		&http.Load{Common: workload.Common{Name: "sleeps", Cold: true}, SleepMS: 100, SleepEvery: 2, Requests: 1000},
	}, "one", "other")
	found, err := b.run(t.Context(), nil)
	must(t, err)
	if len(found.Trials) != 8 {
		t.Errorf("got %d trials, want 8", len(found.Trials))
	}
	answers := int64(0)
	for _, trial := range found.Trials {
		answers += trial.Messages // a busy machine may leave a window without any
		if trial.HTTP == nil || trial.Messages > 0 && (trial.CPUUSPerMessage <= 0 || trial.LatencyUS.P50 <= 0) || trial.Pattern != result.Closed || len(trial.FailedBecause) > 0 {
			t.Errorf("trial %d under %s: got %d messages, CPU %v us, latency %v, pattern %s, http %+v, failures %q; want http figures in a closed loop, CPU time and latency of any messages, and no failures", trial.ID, trial.Load, trial.Messages, trial.CPUUSPerMessage, trial.LatencyUS, trial.Pattern, trial.HTTP, trial.FailedBecause)
		}
		ceiling := found.Plan.Loads[1].Requests.Ceiling(4) // 80 requests/s
		if over := 1 + 12/(ceiling*trial.WindowS); trial.Load == "sleeps" && trial.Rate() > over*ceiling {
			t.Errorf("trial %d: got %v requests/s, want at most the %v that sleeps allow", trial.ID, trial.Rate(), ceiling)
		}
		if cold := trial.Load == "sleeps"; cold != (trial.ColdUSPerMsg == 0) {
			t.Errorf("trial %d under %s: got a cold figure of %v us, want one: %t (none under the load that sleeps)", trial.ID, trial.Load, trial.ColdUSPerMsg, !cold)
		}
	}
	if answers == 0 {
		t.Error("got no answers in any trial, want some")
	}
	must(t, report.Write(b.options.Out, found, ReportKind(found.Plan.Workload)))
}

// TestWebServerElsewhereIsMeasuredWithoutCPU: the bodies of a server that runs elsewhere only need
// to be equal to one another.
func TestWebServerElsewhereIsMeasuredWithoutCPU(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	server := &nethttp.Server{ReadHeaderTimeout: time.Minute, Handler: nethttp.HandlerFunc(func(w nethttp.ResponseWriter, _ *nethttp.Request) { fmt.Fprintln(w, "other") })}
	over := make(chan error, 1) // the server's result
	go func() { over <- server.Serve(l) }()
	defer func() { server.Close(); <-over }()
	plain := &http.Load{Common: workload.Common{Name: "plain", Rate: 500}}
	b := newWebBench(t, "files", []workload.Load{plain})
	b.options.Targets = []string{l.Addr().String()}
	found, err := b.run(t.Context(), nil)
	must(t, err)
	for _, trial := range found.Trials {
		if trial.HTTP == nil || len(trial.FailedBecause) > 0 || trial.CPUUSPerMessage != 0 {
			t.Errorf("got %d answers at %v us of CPU, http %+v, failures %q; want http figures, no CPU time and no failures", trial.Messages, trial.CPUUSPerMessage, trial.HTTP, trial.FailedBecause)
		}
	}
}

// TestRunOfRatesReportsSlowAndWrongAnswers runs a small form of the experiment pipes, with a server
// that cannot keep up and one that sends wrong bodies.
func TestRunOfRatesReportsSlowAndWrongAnswers(t *testing.T) {
	b := newWebBench(t, "files", []workload.Load{
		&http.Load{Common: workload.Common{Name: "plain", Rate: 50}},
		&http.Load{Common: workload.Common{Name: "compressed", Rate: 50, Subjects: []string{"web-sound"}}, Gzip: true, Filters: 3},
	}, "sound", "is slow", "lies")
	found, err := b.run(t.Context(), nil)
	must(t, err)
	for _, trial := range found.Trials {
		why := strings.Join(trial.FailedBecause, "; ")
		switch {
		case trial.HTTP == nil || trial.OfferedRate != 200 || trial.HTTP.Attempted < 59 || trial.HTTP.Attempted > 61:
			t.Errorf("trial %d: got %v requests/s offered, %+v; want 200, and 59 to 61 requests", trial.ID, trial.OfferedRate, trial.HTTP)
		case trial.Subject == "web-is-slow" && (trial.Messages > trial.HTTP.Attempted*4/5 || why != ""):
			t.Errorf("the slow server: got %[2]d answers to %[1]d requests, failures %[3]q; want at most four fifths answered, and no failures", trial.HTTP.Attempted, trial.Messages, why)
		case trial.Subject == "web-lies" && !strings.Contains(why, "load error: body"):
			t.Errorf("the server with wrong bodies: got failures %q, want a load error of the body", why)
		case trial.Subject == "web-sound" && why != "":
			t.Errorf("the correct server: got %d answers, failures %q; want no failures", trial.Messages, why)
		}
		if size := trial.HTTP.BodyBytes / max(1, trial.Messages); trial.Subject == "web-sound" && trial.Messages > 0 && (trial.Load == "plain") != (size == 4096) {
			t.Errorf("%s: got an answer of %d bytes, want the whole %d bytes only under plain", trial.Load, size, 4096)
		}
		if trial.Load == "compressed" && trial.Subject != "web-sound" {
			t.Errorf("%s took part in the load compressed, want only web-sound", trial.Subject)
		}
	}
	must(t, report.Write(b.options.Out, found, ReportKind(found.Plan.Workload)))
}

// TestACommandAndAnAddressAreSubjects: a server takes part without a file, by the command that
// starts it or by its address, and is asked for what it serves.
func TestACommandAndAnAddressAreSubjects(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	server := &nethttp.Server{ReadHeaderTimeout: time.Minute, Handler: nethttp.HandlerFunc(func(w nethttp.ResponseWriter, _ *nethttp.Request) { fmt.Fprintln(w, "hello") })}
	over := make(chan error, 1) // the server's result
	go func() { over <- server.Serve(l) }()
	defer func() { server.Close(); <-over }()
	www := t.TempDir()
	must(t, os.WriteFile(filepath.Join(www, "hello"), []byte("hello\n"), 0o644))
	hello := &http.Load{Common: workload.Common{Name: "hello", Rate: 500}, Path: "/hello"}
	b := newWebBench(t, http.Requests, []workload.Load{hello})
	b.options.SubjectCommands = []string{fmt.Sprintf("mine=%q web {addr} %q 0 0 one", os.Args[0], www)}
	b.options.Targets = []string{"there=http://" + l.Addr().String()}
	b.options.Dir = www
	found, err := b.run(t.Context(), nil)
	must(t, err)
	seen := map[string]bool{}
	for _, trial := range found.Trials {
		seen[trial.Subject] = true
		if trial.HTTP == nil || len(trial.FailedBecause) > 0 || (trial.CPUUSPerMessage > 0) != (trial.Subject == "mine" && trial.Messages > 0) {
			t.Errorf("%s: got %d answers at %v us of CPU, failures %q; want answers without failures, and CPU of the command alone", trial.Subject, trial.Messages, trial.CPUUSPerMessage, trial.FailedBecause)
		}
	}
	if !seen["mine"] || !seen["there"] {
		t.Errorf("got trials of %v, want mine and there", seen)
	}
}
