package netsim

import (
	"fmt"
	"testing"
	"time"
)

// watchPeriod is how often, in real time, a world is looked at for goroutines that wait for a lock.
// A look stops all goroutines: it takes a fiftieth of the time or less.
const watchPeriod, watchShare = 2 * time.Second, 50

// watch returns when the world is over, abandoned, or has failed because its time does not pass.
// done is closed when it is over.
func (w *World) watch(t *testing.T, done <-chan struct{}) {
	t.Helper()
	look := time.NewTimer(watchPeriod)
	defer look.Stop()
	var late <-chan time.Time // nil: the test has no deadline
	if deadline, ok := t.Deadline(); ok {
		timer := time.NewTimer(time.Until(deadline) - reserve(deadline))
		defer timer.Stop()
		late = timer.C
	}
	for before, events := "", 0; ; {
		select {
		case <-done:
			return
		case <-w.abandoned:
			return
		case <-late:
			w.fail(fmt.Sprintf("the -timeout of go test is near, and the world is not over; its last packet was at %v. Its goroutines:\n%s", w.trace.lastAt(), stacksOf(w.bubble.Load())), "the -timeout of go test is near")
			return
		case <-look.C:
			begin, now := time.Now(), ""
			if n := w.trace.count(); n != events { // its time passes
				events = n
			} else if now = stuckGoroutines(w.bubble.Load()); now != "" && now == before {
				w.add(entry{Text: stuckText + now, Kind: failedEntry})
				return
			}
			before = now
			look.Reset(max(watchPeriod, watchShare*time.Since(begin)))
		}
	}
}

const stuckText = "time stands still: a goroutine waits for a lock whose holder waits for time, a packet or a channel. A world's time passes only while every goroutine waits for one of these. " +
	"If the holder writes to a connection, as the HTTP/2 client of net/http does, give the hosts send buffers that never fill: tcp.Config.SendBuffer, by HostConfig.Configure.\n"

// reserve is how long before the deadline of a test a world must be over, so that a report can be
// written: a quarter of the time that is left, at most ten seconds.
func reserve(deadline time.Time) time.Duration {
	return min(10*time.Second, time.Until(deadline)/4)
}

// fail notes a failure of the world itself, which is not repeated for a reason.
func (w *World) fail(text, reason string) {
	w.mu.Lock()
	w.unrepeated = reason
	w.mu.Unlock()
	w.add(entry{At: w.trace.lastAt(), Text: text, Kind: failedEntry})
}
