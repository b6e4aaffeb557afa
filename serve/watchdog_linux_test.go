package serve

import (
	"net"
	"strings"
	"testing"
	"time"
)

// stallHere is the function that the watchdog must find in the stack.
//
//go:noinline
func stallHere(until <-chan struct{}) { <-until }

func TestWatchdogNamesTheCulprit(t *testing.T) {
	for _, c := range []struct {
		way  Way
		form form
	}{{Loop, sessions}, {Coroutine, handlers}, {Coroutine, sessions}} {
		t.Run(c.way.String()+"/"+string(c.form), func(t *testing.T) {
			release := make(chan struct{}) // closed by the test
			stalls := make(chan Stall, 8)  // watchdog -> test
			s := service{open: func(Conn) Session { return blocker(release) }, handle: func(c net.Conn) {
				c.Read(make([]byte, 1))
				stallHere(release)
			}}
			r := startService(t, c.way, c.form, s, Options{StallThreshold: 20 * time.Millisecond, OnStall: func(s Stall) { stalls <- s }})
			conn := r.dial()
			conn.Write([]byte("x"))
			stall := <-stalls
			if stall.Remote.String() != conn.LocalAddr().String() || !strings.Contains(stall.Stack, "serve.stallHere") || stall.Duration < 20*time.Millisecond {
				t.Errorf("held up by %v for %v at:\n%s\nwant %v in stallHere", stall.Remote, stall.Duration, stall.Stack, conn.LocalAddr())
			}
			close(release)
			conn.Close()
			r.stopsCleanly()
			if len(stalls) > 0 {
				t.Errorf("one call was reported %d times more, want once", len(stalls))
			}
		})
	}
}

// blocker is a session that blocks until the channel is closed.
type blocker <-chan struct{}

func (b blocker) Input([]byte, *Writer) error   { stallHere(b); return nil }
func (b blocker) Wake(time.Time, *Writer) error { return nil }
func (b blocker) Close(error)                   {}

func TestWatchdogIsSilentWhileNothingIsHeldUp(t *testing.T) {
	stalls := make(chan Stall, 8) // watchdog -> test
	r := startService(t, Coroutine, handlers, services["late"], Options{StallThreshold: 10 * time.Second, OnStall: func(s Stall) { stalls <- s }})
	exchange(t, r.dial(), "waits on its loop, which goes on")
	r.stopsCleanly()
	if len(stalls) > 0 {
		t.Errorf("got the stall %+v, want none", <-stalls)
	}
}
