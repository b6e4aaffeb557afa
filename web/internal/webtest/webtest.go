// Package webtest is what the tests of web and of its components share: a composition that runs
// behind a server of its own, each way that there is, a client that asks it, and how an exchange
// ended. What it opens is closed when the test ends, so that a check for goroutines that are left
// finds none. A failure ends the test at the line that called.
//
// Limitations: the server is httptest's, over loopback and without TLS: what package server does to
// a connection is not seen. Only tests import this package.
package webtest

import (
	"net/http/httptest"
	"testing"
	"time"

	"weir/flow"
	"weir/web"
)

// Patience is how long a test waits for what must come, on a machine however busy.
const Patience = 10 * time.Second

// EachWay runs a test for a chain and for a process network.
func EachWay(t *testing.T, test func(t *testing.T, way flow.Way)) {
	t.Helper()
	for _, way := range []flow.Way{flow.Chain, flow.Network} {
		t.Run(string(way), func(t *testing.T) { test(t, way) })
	}
}

// BothWays runs a test of a composition as a chain and as a process network; url is where it is
// served.
func BothWays(t *testing.T, c web.Component, test func(t *testing.T, url string)) {
	t.Helper()
	EachWay(t, func(t *testing.T, way flow.Way) { test(t, Serve(t, way, c)) })
}

// Serve serves a composition until the test ends, and gives its address. What t.Cleanup was given
// before is called when the last exchange is over, what it is given later while there may be some.
func Serve(t testing.TB, way flow.Way, c web.Component) (url string) {
	t.Helper()
	h, err := web.New(c, web.Options{Way: way})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.Close()
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return s.URL
}

// Ended is what an exchange was at its end.
type Ended struct {
	Status   int
	Upstream string // web.Upstream
	Err      error
}

// Noting is a pipe that hands over how each exchange ended, and sets the field X-Before to "kept".
// An exchange is not over before to takes it.
func Noting(to chan<- Ended) web.Component {
	return web.Pipe(func(c *web.Conn) {
		c.SetHeader("X-Before", "kept")
		c.After(func(c *web.Conn) { to <- Ended{c.Status(), c.Text(web.Upstream), c.Err()} })
	})
}

// Receive gives the next value of a channel, and ends the test when none comes in Patience; want
// says what the value is.
func Receive[T any](t testing.TB, from <-chan T, want string) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(Patience):
		t.Fatalf("got nothing in %v, want %s", Patience, want)
		panic("not reached")
	}
}

// Until waits for what must become true, which it asks about again and again.
func Until(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(Patience); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it did not come about that %s", what)
		}
	}
}
