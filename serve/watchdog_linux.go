package serve

import (
	"bytes"
	"fmt"
	"runtime"
	"strconv"
	"time"
)

// watch starts the watchdog of the loops if anybody wants to hear of it: one goroutine, which the
// returned function stops and waits for. It looks twice in each Options.Watchdog and tells of each
// call once.
func watch(loops []*loop, o Options) (stop func()) {
	if o.Stalled == nil {
		return func() {}
	}
	// both closed only: caller -> watchdog -> caller
	stopc, donec := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(donec)
		tick := time.NewTicker(max(o.Watchdog/2, time.Millisecond))
		defer tick.Stop()
		seen := make([]sighting, len(loops))
		for {
			select {
			case <-stopc:
				return
			case now := <-tick.C:
				for i, l := range loops {
					seen[i].look(l, now)
				}
			}
		}
	}()
	return func() { close(stopc); <-donec }
}

// sighting is the call under way in a loop when the watchdog first saw it.
type sighting struct {
	call  uint64
	since time.Time
	told  bool
}

func (s *sighting) look(l *loop, now time.Time) {
	call, c := l.calls.Load(), l.called.Load()
	if c == nil || call != s.call {
		*s = sighting{call: call, since: now}
		return
	}
	if stalled := now.Sub(s.since); stalled >= l.o.Watchdog && !s.told {
		s.told = true
		goid := c.goid.Load()
		if goid == 0 {
			goid = l.goid.Load()
		}
		l.o.Stalled(Stall{Loop: l.number, Remote: c.remote, For: stalled, Stack: stackOf(goid)})
	}
}

// noteGoroutine notes that the connection is served by the goroutine that calls it.
func (c *conn) noteGoroutine() {
	if c.l.o.Stalled != nil {
		c.goid.Store(goroutineID())
	}
}

// goroutineID is the number that stack dumps give the calling goroutine.
func goroutineID() uint64 {
	var buf [64]byte
	var id uint64
	fmt.Sscanf(string(buf[:runtime.Stack(buf[:], false)]), "goroutine %d", &id)
	return id
}

// stackOf is that goroutine's part of a dump of all stacks, "" when it is not in the first
// megabyte.
func stackOf(goid uint64) string {
	dump := make([]byte, 1<<20)
	dump = dump[:runtime.Stack(dump, true)]
	for part := range bytes.SplitSeq(dump, []byte("\n\n")) {
		if bytes.HasPrefix(part, []byte("goroutine "+strconv.FormatUint(goid, 10)+" ")) {
			return string(part)
		}
	}
	return ""
}
