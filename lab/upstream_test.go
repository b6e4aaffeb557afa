package lab

import (
	"bytes"
	"context"
	nethttp "net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/lab/workload"
	"weir/lab/workload/http"
)

// forward is a proxy. The test binary runs it with the arguments "forward ADDR UPSTREAM".
func forward(addr, to string) {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	server := &nethttp.Server{Addr: addr, Handler: httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: to}), ReadHeaderTimeout: time.Minute}
	go func() {
		<-ctx.Done()
		server.Close()
	}()
	server.ListenAndServe() //nolint:errcheck // ends with the process
	os.Exit(0)
}

// TestProxiesForwardToTheUpstreamOfTheRun: the lab serves the files behind each proxy, compares
// what arrives, and leaves no process.
func TestProxiesForwardToTheUpstreamOfTheRun(t *testing.T) {
	b := newWebBench(t, http.Proxy, []workload.Load{
		&http.Load{Common: workload.Common{Name: "rate", Rate: 25}},
		&http.Load{Common: workload.Common{Name: "closed loop"}},
	}, "proxy")
	found, err := b.run(t.Context(), nil)
	must(t, err)
	if len(found.Trials) != 4 {
		t.Errorf("got %d trials, want 4", len(found.Trials))
	}
	for _, trial := range found.Trials {
		if trial.HTTP == nil || trial.Messages == 0 || trial.CPUUSPerMessage <= 0 || trial.Bytes/max(1, trial.Messages) < 4096 || len(trial.FailedBecause) > 0 {
			t.Errorf("trial %d under %s: got %d messages of %d bytes, CPU %v us, failures %q; want the file in each, CPU, and no failures",
				trial.ID, trial.Load, trial.Messages, trial.Bytes, trial.CPUUSPerMessage, trial.FailedBecause)
		}
	}
	if left := processesWith(t, filepath.Join(b.options.Out, "www")); len(left) > 0 {
		t.Errorf("got the processes %q after the run, want none that serve its files", left)
	}
}

// processesWith returns the command lines with a word.
func processesWith(t *testing.T, word string) (lines []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	must(t, err)
	for _, file := range files {
		text, _ := os.ReadFile(file) // it may have ended
		if line := string(bytes.ReplaceAll(text, []byte{0}, []byte(" "))); strings.Contains(line, word) {
			lines = append(lines, line)
		}
	}
	return lines
}
