package serve

import (
	"io"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// beside measures what else goes on in the process while loops wait raw: a 1 ms ticker and the collector.
type beside struct {
	ticks     int
	tickLate  time.Duration // latest tick against its schedule
	cycles    int
	cycleLong time.Duration // longest runtime.GC, which stops the world twice
}

// observe measures for about d.
func observe(d time.Duration) beside {
	var b beside
	var stop atomic.Bool
	collected := make(chan struct{}) // closed by the collecting goroutine
	go func() {
		defer close(collected)
		for !stop.Load() {
			began := time.Now()
			runtime.GC()
			b.cycles++
			b.cycleLong = max(b.cycleLong, time.Since(began))
			time.Sleep(5 * time.Millisecond)
		}
	}()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(d); time.Now().Before(end); {
		due := <-tick.C
		b.ticks++
		b.tickLate = max(b.tickLate, time.Since(due))
	}
	stop.Store(true)
	<-collected
	return b
}

// chatter exchanges messages with the service until the returned function is called.
func chatter(r *running, n int) (stop func()) {
	conns := make([]*net.TCPConn, n)
	ended := make(chan struct{}, n) // chatters -> stop, one each
	for i := range conns {
		conns[i] = r.dial()
		go func() {
			buf := make([]byte, 1000)
			for {
				_, err := conns[i].Write(buf)
				if err == nil {
					_, err = io.ReadFull(conns[i], buf)
				}
				if err != nil {
					ended <- struct{}{}
					return
				}
			}
		}()
	}
	return func() {
		for _, c := range conns {
			c.Close()
		}
		for range conns {
			<-ended
		}
	}
}

// A raw wait keeps its P and must not keep the rest of the program from running, nor the collector from
// stopping it. The bounds are generous: what is shown is that nothing hangs or waits for a message.
func TestTickerAndCollectorGoOnBesideLoops(t *testing.T) {
	for _, w := range []Way{Loop, Coroutine} {
		for _, loops := range []int{1, 2} {
			for _, busy := range []bool{false, true} {
				r := begin(t, w, Ways[w].form(), services["echo"], Options{Loops: loops})
				stop := func() {}
				if busy {
					stop = chatter(r, 4)
				}
				b := observe(300 * time.Millisecond)
				stop()
				r.stopsCleanly()
				t.Logf("%s, %d loops, busy %v: %d ticks, latest by %v; %d collections, longest %v",
					w, loops, busy, b.ticks, b.tickLate, b.cycles, b.cycleLong)
				if b.ticks == 0 || b.cycles == 0 || b.tickLate > 10*time.Second || b.cycleLong > 10*time.Second {
					t.Errorf("%s, %d loops, busy %v: the program stood still beside the loops: %+v", w, loops, busy, b)
				}
			}
		}
	}
}

// form is the form that is the way's own.
func (t Trait) form() form {
	if t.Name == Coroutine.String() {
		return handlers
	}
	return sessions
}

func TestLoopsRaiseGOMAXPROCS(t *testing.T) {
	before := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(before)
	r := begin(t, Loop, sessions, services["echo"], Options{Loops: 3})
	exchange(t, r.dial(), "up")
	if n := runtime.GOMAXPROCS(0); n < 4 {
		t.Errorf("3 loops run with GOMAXPROCS %d, want one more than the loops", n)
	}
	r.stopsCleanly()
}

func TestAsyncPreemptOffIsRefused(t *testing.T) {
	t.Setenv("GODEBUG", "asyncpreemptoff=1")
	if release, err := reserve(1); err == nil {
		release()
		t.Error("an event loop without preemption signals was not refused")
	}
}
