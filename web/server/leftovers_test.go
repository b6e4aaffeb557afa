package server

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"weir/serve"
)

// leftoverPath is where a child process reports its number and what it has open.
const leftoverPath = "/leftovers"

// echoOrReport is echoContent with a report at leftoverPath.
func echoOrReport(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != leftoverPath {
		echoContent(w, r)
		return
	}
	fmt.Fprint(w, os.Getpid(), " ", runtime.NumGoroutine(), " ", descriptors())
}

// childReport is what a child process has open.
type childReport struct{ goroutines, descriptors int }

// childReports has the first report of each child process of prefork, by its number. Other models
// have no child that outlives a connection.
type childReports struct {
	server *running
	first  map[int]childReport
}

func newChildReports(t *testing.T, s *running) *childReports {
	c := &childReports{server: s, first: map[int]childReport{}}
	if s.config.Model == serve.Prefork {
		wait(t, "each child has reported", func() bool {
			pid, report := c.ask(t)
			c.first[pid] = report
			return len(c.first) == s.config.Workers
		})
	}
	return c
}

// ask returns the report of a child, on a connection of its own.
func (c *childReports) ask(t *testing.T) (pid int, r childReport) {
	conn := dial(t, c.server.addr)
	defer conn.Close()
	_, _ = io.WriteString(conn, "GET "+leftoverPath+" HTTP/1.0\r\n\r\n")
	all, err := io.ReadAll(conn)
	_, content, _ := strings.Cut(string(all), "\r\n\r\n")
	if _, scanErr := fmt.Sscan(content, &pid, &r.goroutines, &r.descriptors); err != nil || scanErr != nil {
		t.Fatalf("a child: got the report %q, %v, want numbers", all, err)
	}
	return pid, r
}

// waitUntilAsBefore waits until each child has no more open than at first, or, if each connection
// has a child, until none is left.
func (c *childReports) waitUntilAsBefore(t *testing.T) {
	switch c.server.config.Model {
	case serve.Prefork:
		asBefore, last := map[int]bool{}, map[int]childReport{}
		defer func() {
			if t.Failed() {
				t.Logf("the children had %v open, and now %v", c.first, last)
			}
		}()
		wait(t, "each child has no more open than before", func() bool {
			pid, now := c.ask(t)
			first, known := c.first[pid]
			if !known {
				t.Fatalf("got the child %d, want one of %v: one has ended", pid, c.first)
			}
			last[pid] = now
			if now.goroutines <= first.goroutines && now.descriptors <= first.descriptors {
				asBefore[pid] = true
			}
			return len(asBefore) == len(c.first)
		})
	case serve.Process:
		wait(t, "no child process is left", func() bool { return len(childProcesses(t)) == 0 })
	}
}

// childProcesses returns the names of the files of this process's children, zombies included, or
// nothing if the system does not tell.
func childProcesses(t *testing.T) (children []string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		return nil
	}
	all, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range all {
		stat, _ := os.ReadFile(name) // it may have ended
		// the name in parentheses may hold any byte
		if fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:])); len(fields) > 1 && fields[1] == fmt.Sprint(os.Getpid()) {
			children = append(children, name)
		}
	}
	return children
}
