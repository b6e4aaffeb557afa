// Package webtest is shared by the tests of web and of its components. It runs a composition behind
// a server of its own, as a chain and as a network, sends requests to it, and records how exchanges
// end. Servers and clients are closed at the end of the test, so that a check for leaked goroutines
// finds none. A failure ends the test at the line of the caller.
//
// Limitations: the server listens on loopback and has no TLS. Only tests import this package.
package webtest

import (
	"testing"
	"time"

	"weir/flow"
	"weir/web"
)

// WaitTimeout is how long a test waits for something that must happen, on a machine however busy.
const WaitTimeout = 10 * time.Second

// EachWay runs a test for a chain and for a process network. It serves nothing: see ServeBothWays.
func EachWay(t *testing.T, test func(t *testing.T, way flow.Way)) {
	t.Helper()
	for _, way := range []flow.Way{flow.Chain, flow.Network} {
		t.Run(string(way), func(t *testing.T) { test(t, way) })
	}
}

// ServeBothWays serves a composition as a chain and then as a process network, and runs a test of
// each; url is its address.
func ServeBothWays(t *testing.T, c web.Component, test func(t *testing.T, url string)) {
	t.Helper()
	EachWay(t, func(t *testing.T, way flow.Way) { test(t, Serve(t, way, c)) })
}

// Serve serves a composition until the test ends, and returns its URL. Functions passed to
// t.Cleanup before Serve run after the last exchange; functions passed later may run while there
// are exchanges.
func Serve(t testing.TB, way flow.Way, c web.Component) (url string) {
	t.Helper()
	h, err := web.New(c, web.Options{Way: way})
	if err != nil {
		t.Fatal(err)
	}
	url, stop := listenAndServe(t, h)
	t.Cleanup(func() {
		stop()
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return url
}

// ExchangeEnd is the state of an exchange at its end.
type ExchangeEnd struct {
	Status   int
	Upstream string // web.Upstream
	Err      error
}

// RecordEnds returns a pipe that sends the end of each exchange to a channel. An exchange does not
// end before the channel has accepted it. The pipe also sets the field X-Before to "kept", so that
// a test can check that a field of an earlier component survives.
func RecordEnds(to chan<- ExchangeEnd) web.Component {
	return web.Pipe(func(c *web.Conn) {
		c.SetHeader("X-Before", "kept")
		c.After(func(c *web.Conn) { to <- ExchangeEnd{c.Status(), c.StringValue(web.Upstream), c.Err()} })
	})
}

// Receive returns the next value of a channel. It ends the test if none arrives within WaitTimeout;
// want says what the value is.
func Receive[T any](t testing.TB, from <-chan T, want string) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(WaitTimeout):
		t.Fatalf("got nothing in %v, want %s", WaitTimeout, want)
		panic("not reached")
	}
}

// Until polls until is returns true. It ends the test if this takes longer than WaitTimeout; what
// says what the condition is.
func Until(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(WaitTimeout); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("within %v this did not become true: %s", WaitTimeout, what)
		}
	}
}
