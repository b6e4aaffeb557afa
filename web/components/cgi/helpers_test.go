package cgi

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"weir/flow"
	"weir/web"
	"weir/web/internal/webtest"
)

// bothWays runs a test of a component between two pipes, as a chain and as a process network, with
// a new component each time.
func bothWays(t *testing.T, component func() (web.Component, error), test func(t *testing.T, url string, c web.Component, end <-chan webtest.ExchangeEnd)) {
	t.Helper()
	before := web.Pipe(func(c *web.Conn) {
		c.SetHeader("X-From", "pipe")
		c.AddHeader("Set-Cookie", "b=2")
		if u := c.RequestHeader("X-User"); u != "" {
			c.SetValue(web.User, u)
		}
	})
	webtest.EachWay(t, func(t *testing.T, way flow.Way) {
		c, err := component()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := c.(io.Closer).Close(); err != nil {
				t.Errorf("Close: got %v, want nil", err)
			}
		})
		to := make(chan webtest.ExchangeEnd, 16)
		test(t, webtest.Serve(t, way, web.Chain(webtest.RecordEnds(to), before, c)), c, to)
	})
}

// broken requests a page and checks that its body is visibly incomplete.
func broken(t *testing.T, url string) string {
	t.Helper()
	resp, err := webtest.Client(t).Get(url)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err == nil {
		t.Errorf("got a body that looks complete: %.100q, want an incomplete one", all)
	}
	return string(all)
}

// pidIn returns the process ID that a program has written to a file, or 0.
func pidIn(file string) int {
	text, _ := os.ReadFile(file)
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return pid
}

// lives reports whether a process runs, rather than being a zombie.
func lives(pid int) bool {
	if syscall.Kill(pid, 0) == syscall.ESRCH {
		return false
	}
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	_, after, _ := strings.Cut(string(stat), ") ")
	return err != nil || !strings.HasPrefix(after, "Z")
}

// members returns the number of running processes of a group, where the system reports them.
func members(group int) int {
	n := 0
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range stats {
		stat, _ := os.ReadFile(file)
		_, after, _ := strings.Cut(string(stat), ") ")
		if f := strings.Fields(after); len(f) > 2 && f[0] != "Z" && f[2] == strconv.Itoa(group) {
			n++
		}
	}
	return n
}
