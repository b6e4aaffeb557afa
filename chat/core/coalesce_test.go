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
	}{
		{"a sequential exchange does not wait", 2, 1, 1, soon, false, false},
		{"the first of several answers waits for the others", 10, 10, 1, soon, false, true},
		{"the last of several answers does not wait", 10, 10, 10, soon, false, false},
		{"nothing waits after a pause", 10, 10, 1, longAgo, false, false},
		{"in a large room messages that come one by one do not wait", 64, 1, 1, soon, false, false},
		{"in a large room answers wait for one another", 64, 20, 9, soon, false, true},
		{"in a large room nothing waits after a pause", 64, 20, 1, longAgo, false, false},
		{"a dirty state file does not wait", 64, 20, 1, soon, true, false},
	} {
		s, f, _ := crowd(t, c.members, 1)
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

// The more answers are to come, the longer a window lasts, within its limit.
func TestACoalescingWindowGrowsWithTheAnswers(t *testing.T) {
	for lastBatchSize, want := range map[int]time.Duration{2: 1, 32: 1, 33: 2, 64: 2, 160: 5, 1000: 5} {
		f := &conversation{lastBatchSize: lastBatchSize}
		if got := f.coalescingWindow() - windowMargin; got != want*time.Millisecond {
			t.Errorf("after a batch of %d messages the window is %v, want %v", lastBatchSize, got, want*time.Millisecond)
		}
	}
}

// A window ends by itself, and the waiting posts are delivered.
func TestACoalescingWindowEnds(t *testing.T) {
	s, f, sinks := crowd(t, 64, 1)
	f.lastDeliveryAt, f.lastBatchSize = s.clock.Add(time.Hour), 2
	s.withLock(func() {
		f.put(post{sender: f.subscriptions[0].session, isMessage: true, lastLine: true, entry: f.entries[0]})
	})
	s.waitFor(func() bool { return s.Counts().Deliveries > 0 })
	if sinks[1].writes != 1 {
		t.Errorf("got %d writes to a member, want 1", sinks[1].writes)
	}
}
