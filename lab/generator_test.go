package lab

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/internal/tail"
	"weir/lab/agent"
	"weir/lab/load"
	"weir/lab/sample"
)

// TestGeneratorHasItsOwnProcessGroup: Ctrl-C reaches every process of the terminal's foreground
// group, and must not end the generator.
func TestGeneratorHasItsOwnProcessGroup(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("accounting needs Linux")
	}
	g, err := startGenerator([]string{"cat"}, sample.Placement{})
	must(t, err)
	pid := g.source.(*loadProcess).cmd.Process.Pid
	pgid, err := syscall.Getpgid(pid)
	if err != nil || pgid != pid {
		t.Errorf("process %d: got group %d (%v), want its own", pid, pgid, err)
	}
	must(t, g.close())
}

// TestInterruptionIsReported: an interrupted run also ends its generator, and either may be seen
// first.
func TestInterruptionIsReported(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ended := make(chan agent.Event)
	close(ended)
	for range 100 {
		g := &generator{source: &loadProcess{cmd: exec.Command("true"), stderr: tail.New(10)}, events: ended, onTick: func() {}}
		err := g.eachEvent(ctx, time.Hour, func(agent.Event) (bool, error) { return false, nil })
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("got error %v, want context.Canceled", err)
		}
	}
}

// TestAFailureInTheWarmUpHasTheGeneratorsErrors: a server whose every answer is wrong stalls the
// warm-up, and the failure says what was wrong.
func TestAFailureInTheWarmUpHasTheGeneratorsErrors(t *testing.T) {
	weir, err := weirBinary()
	must(t, err)
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	g, err := startGenerator([]string{weir, "load", "http", "--steer", "--connections", "2", "--length", "5", server.URL + "/missing"}, sample.Placement{})
	must(t, err)
	_, err = g.awaitEvent(t.Context(), "progress", time.Minute)
	must(t, err)
	got := g.withErrors(t.Context(), failure("stalled"))
	if want := "stalled; the load generator found status ("; !strings.HasPrefix(got.Error(), want) || !strings.HasSuffix(got.Error(), ": status 404") {
		t.Errorf("got failure %q, want one from %q to an example with the status 404", got, want)
	}
	if other := errors.New("no such cgroup"); g.withErrors(t.Context(), other) != other {
		t.Error("got another error for one that is no failure of the subject, want it as it is")
	}
	must(t, g.close())
}

// TestAnErrorOfTheGeneratorNamesTheSubject: it has only the address of the server.
func TestAnErrorOfTheGeneratorNamesTheSubject(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{loadError("load: the first response of http://127.0.0.1:1/ is invalid"), "lab: the load generator failed: load: the first response of http://127.0.0.1:1/ is invalid (the subject is mine)"},
		{loadError(load.CannotConnect + "127.0.0.1:1: refused"), "lab: can't connect to 127.0.0.1:1: refused (the subject is mine)"},
		{loadError(load.ServerFailed + "it left"), "it left"},
		{context.Canceled, "context canceled"},
	} {
		if got := withSubject(c.err, "mine"); got.Error() != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	if err := withSubject(nil, "mine"); err != nil {
		t.Errorf("without an error: got %v, want none", err)
	}
}
