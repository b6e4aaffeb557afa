package cgi

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/flow"
	"weir/web"
)

// patience is how long a test waits for what must come.
const patience = 30 * time.Second

// ended is what an exchange was at its end.
type ended struct {
	status int
	err    error
}

// serving runs a component between two pipes, and gives its address and how exchanges end.
func serving(t *testing.T, way flow.Way, c web.Component) (url string, end <-chan ended) {
	to := make(chan ended, 16)
	before := web.Pipe(func(c *web.Conn) {
		c.SetHeader("X-Before", "kept")
		c.SetHeader("X-From", "pipe")
		c.AddHeader("Set-Cookie", "b=2")
		if u := c.RequestHeader("X-User"); u != "" {
			c.SetValue(web.User, u)
		}
		c.After(func(c *web.Conn) { to <- ended{c.Status(), c.Err()} })
	})
	h, err := web.New(web.Chain(before, c), web.Options{Way: way})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.Close()
		h.Close()
		if err := c.(io.Closer).Close(); err != nil {
			t.Error(err)
		}
	})
	return s.URL, to
}

// bothWays runs a test of a component, made anew each time, as a chain and as a process network.
func bothWays(t *testing.T, component func() (web.Component, error), test func(t *testing.T, url string, c web.Component, end <-chan ended)) {
	for _, way := range []flow.Way{flow.Chain, flow.Network} {
		t.Run(string(way), func(t *testing.T) {
			c, err := component()
			if err != nil {
				t.Fatal(err)
			}
			url, end := serving(t, way, c)
			test(t, url, c, end)
		})
	}
}

func client(t *testing.T) *http.Client {
	tr := &http.Transport{DisableCompression: true}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: patience, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// do sends a request, and gives the response and its whole body.
func do(t *testing.T, method, url string, body io.Reader, fields ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(fields); i += 2 {
		r.Header[fields[i]] = append(r.Header[fields[i]], fields[i+1])
	}
	resp, err := client(t).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(all)
}

// broken asks for a page whose body does not look whole.
func broken(t *testing.T, url string) string {
	t.Helper()
	resp, err := client(t).Get(url)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err == nil {
		t.Errorf("the body looks whole: %.100q", all)
	}
	return string(all)
}

// until waits for what must become true.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it did not come about that %s", what)
		}
	}
}

// pidIn is the number that a program has left in a file, 0 when there is none.
func pidIn(file string) int {
	text, _ := os.ReadFile(file)
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return pid
}

// lives says whether a process is more than an entry that its parent has not looked at.
func lives(pid int) bool {
	if syscall.Kill(pid, 0) == syscall.ESRCH {
		return false
	}
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	_, after, _ := strings.Cut(string(stat), ") ")
	return err != nil || !strings.HasPrefix(after, "Z")
}

// members are how many processes live in a group, as far as the system can be asked.
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
