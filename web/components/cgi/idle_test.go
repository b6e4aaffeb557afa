package cgi

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/web"
	"weir/web/internal/webtest"
)

// A program that stops writing after its header is killed with its children, long before its
// timeout. Event streams may be idle.
func TestIdleBodyIsAborted(t *testing.T) {
	for kind, stops := range map[string]bool{"text/plain": true, "text/event-stream; charset=utf-8": false} {
		dir := t.TempDir()
		pids, on := filepath.Join(dir, "pids"), filepath.Join(dir, "go")
		cfg := Config{Timeout: "1h", IdleTimeout: "20ms", Env: map[string]string{"PIDS": pids, "KIND": kind, "GO": on}}
		bothWays(t, bin(cfg), func(t *testing.T, url string, c web.Component, end <-chan webtest.ExchangeEnd) {
			_ = os.Remove(on)
			if !stops {
				resp, err := webtest.Client(t).Get(url + "/cgi-bin/half")
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				half := make([]byte, 4)
				_, _ = io.ReadFull(resp.Body, half)
				time.Sleep(40 * time.Millisecond) // twice the limit
				if err := os.WriteFile(on, nil, 0o644); err != nil {
					t.Fatal(err)
				}
				if rest, err := io.ReadAll(resp.Body); string(half)+string(rest) != "half and half\n" || err != nil {
					t.Errorf("%s: got %q%q and %v, want both halves", kind, half, rest, err)
				}
				<-end
				return
			}
			if got := broken(t, url+"/cgi-bin/half"); !strings.HasPrefix("half", got) {
				t.Errorf("%s: got %q, want the first half", kind, got)
			}
			if e := <-end; e.Err == nil || !strings.Contains(e.Err.Error(), "the program wrote no data for 20ms") {
				t.Errorf("%s: it ended with %+v, want an idle timeout", kind, e)
			}
			webtest.Until(t, "nothing runs", func() bool { return c.(*CGI).Running() == 0 })
			webtest.Until(t, "the group is gone", func() bool { return members(pidIn(pids)) == 0 })
		})
	}
}

// The limit applies to the program: a client that reads slowly does not trigger it.
func TestSlowClientDoesNotTimeOutTheProgram(t *testing.T) {
	p, err := start(t.Context(), webtest.WaitTimeout, exec.Command("sh", "-c", "head -c 9000 /dev/zero"))
	if err != nil {
		t.Fatal(err)
	}
	p.limitIdle(webtest.WaitTimeout)
	if _, err := io.ReadFull(p, make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	if p.idleTimer.Stop() {
		t.Error("got a timeout while the client did not read, want none")
	}
	if rest, err := io.ReadAll(p); len(rest) != 8990 || err != nil {
		t.Errorf("got %d bytes and %v, want 8990", len(rest), err)
	}
	if err := p.Close(); err != nil {
		t.Errorf("Close: got %v, want nil", err)
	}
}
