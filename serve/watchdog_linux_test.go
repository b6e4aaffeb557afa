package serve

import (
	"net"
	"strings"
	"testing"
	"time"
)

// heldUp is where the watchdog must find the culprit.
//
//go:noinline
func heldUp(until <-chan struct{}) { <-until }

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
				heldUp(release)
			}}
			r := begin(t, c.way, c.form, s, Options{Watchdog: 20 * time.Millisecond, Stalled: func(s Stall) { stalls <- s }})
			conn := r.dial()
			conn.Write([]byte("x"))
			stall := <-stalls
			if stall.Remote.String() != conn.LocalAddr().String() || !strings.Contains(stall.Stack, "serve.heldUp") || stall.For < 20*time.Millisecond {
				t.Errorf("held up by %v for %v at:\n%s\nwant %v in heldUp", stall.Remote, stall.For, stall.Stack, conn.LocalAddr())
			}
			close(release)
			conn.Close()
			r.stopsCleanly()
			if len(stalls) > 0 {
				t.Errorf("one call was told of %d times more", len(stalls))
			}
		})
	}
}

// blocker is a session that blocks until the channel is closed.
type blocker <-chan struct{}

func (b blocker) Input([]byte, *Writer) error   { heldUp(b); return nil }
func (b blocker) Wake(time.Time, *Writer) error { return nil }
func (b blocker) Close(error)                   {}

func TestWatchdogIsSilentWhileNothingIsHeldUp(t *testing.T) {
	stalls := make(chan Stall, 8) // watchdog -> test
	r := begin(t, Coroutine, handlers, services["late"], Options{Watchdog: 10 * time.Second, Stalled: func(s Stall) { stalls <- s }})
	exchange(t, r.dial(), "waits on its loop, which goes on")
	r.stopsCleanly()
	if len(stalls) > 0 {
		t.Errorf("told of %+v", <-stalls)
	}
}
