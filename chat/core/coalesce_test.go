package core

import (
	"testing"
	"time"
)

func TestPostsAreCoalesced(t *testing.T) {
	// time of the last delivery relative to now, beyond any delay of the machine
	const soon, longAgo = time.Hour, -time.Hour
	for _, c := range []struct {
		why                             string
		members, lastBatchSize, pending int
		lastDelivery                    time.Duration
		stateDirty, waits               bool
		noCoalescing                    bool
	}{
		{"a sequential exchange does not wait", 2, 1, 1, soon, false, false, false},
		{"the first of several answers waits for the others", 10, 10, 1, soon, false, true, false},
		{"the last of several answers does not wait", 10, 10, 10, soon, false, false, false},
		{"nothing waits after a pause", 10, 10, 1, longAgo, false, false, false},
		{"in a large room a message waits for another", 64, 1, 1, soon, false, true, false},
		{"in a large room an eighth of the members is enough", 64, 1, 9, soon, false, false, false},
		{"in a large room it waits for as many as last time", 64, 20, 9, soon, false, true, false},
		{"in a large room nothing waits after a pause", 64, 20, 1, longAgo, false, false, false},
		{"a dirty state file does not wait", 64, 20, 1, soon, true, false, false},
		{"without coalescing a large room is like a small one", 64, 1, 1, soon, false, false, true},
		{"without coalescing answers wait for one another", 64, 20, 9, soon, false, true, true},
	} {
		s, f, _ := crowd(t, c.members, 1)
		o := *f.svc.Options()
		o.NoCoalescing = c.noCoalescing
		f.svc.current = &o
		s.withLock(func() {
			f.lastDeliveryAt, f.lastBatchSize = s.clock.Add(c.lastDelivery), c.lastBatchSize
			f.stateDirty, f.pending = c.stateDirty, make([]post, c.pending)
			if got := f.awaitsWindow(); got != c.waits {
				t.Errorf("%s: got a wait %v, want %v", c.why, got, c.waits)
			}
			f.pending, f.stateDirty = nil, false
		})
	}
}

// A window ends by itself, and the waiting posts are delivered.
func TestACoalescingWindowEnds(t *testing.T) {
	s, f, sinks := crowd(t, 64, 1)
	f.lastDeliveryAt = s.clock.Add(time.Hour)
	s.withLock(func() {
		f.put(post{sender: f.subscriptions[0].session, isMessage: true, lastLine: true, entry: f.entries[0]})
	})
	s.waitFor(func() bool { return s.Counts().Deliveries > 0 })
	if sinks[1].writes != 1 {
		t.Errorf("got %d writes to a member, want 1", sinks[1].writes)
	}
}
