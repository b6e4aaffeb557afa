package serve

import (
	"bytes"
	"fmt"
	"runtime"
	"strconv"
	"time"
)

// startWatchdog starts the watchdog of the loops if Options.OnStall is set. It is one goroutine,
// which the returned function stops and waits for. It checks twice in each Options.StallThreshold
// and reports each call once.
func startWatchdog(loops []*loop, o Options) (stop func()) {
	if o.OnStall == nil {
		return func() {}
	}
	// both are only closed: caller -> watchdog -> caller
	stopc, donec := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(donec)
		tick := time.NewTicker(max(o.StallThreshold/2, time.Millisecond))
		defer tick.Stop()
		seen := make([]callWatch, len(loops))
		for {
			select {
			case <-stopc:
				return
			case now := <-tick.C:
				for i, l := range loops {
					seen[i].check(l, now)
				}
			}
		}
	}()
	return func() { close(stopc); <-donec }
}

// callWatch is the call under way in a loop when the watchdog first saw it.
type callWatch struct {
	call     uint64
	since    time.Time
	reported bool
}

func (s *callWatch) check(l *loop, now time.Time) {
	call, c := l.callCount.Load(), l.calledConn.Load()
	if c == nil || call != s.call {
		*s = callWatch{call: call, since: now}
		return
	}
	if stalled := now.Sub(s.since); stalled >= l.options.StallThreshold && !s.reported {
		s.reported = true
		goid := c.goroutineID.Load()
		if goid == 0 {
			goid = l.goroutineID.Load()
		}
		l.options.OnStall(Stall{Loop: l.index, Remote: c.remote, Duration: stalled, Stack: stackOf(goid)})
	}
}

// noteGoroutine records that the calling goroutine serves the connection.
func (c *conn) noteGoroutine() {
	if c.loop.options.OnStall != nil {
		c.goroutineID.Store(goroutineID())
	}
}

// goroutineID returns the number that stack dumps give the calling goroutine.
func goroutineID() uint64 {
	var buf [64]byte
	var id uint64
	fmt.Sscanf(string(buf[:runtime.Stack(buf[:], false)]), "goroutine %d", &id)
	return id
}

// stackOf returns that goroutine's part of a dump of all stacks, "" if it is not in the first
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
