package chat

import (
	"testing"
	"time"
)

func TestAFeedRests(t *testing.T) {
	// when it was delivered to last: seen from now, whatever the machine does meanwhile
	const soon, longAgo = time.Hour, -time.Hour
	for _, c := range []struct {
		why                    string
		seats, lately, pending int
		told                   time.Duration
		stateless, rests       bool
		prompt                 bool
	}{
		{"what is said one after the other waits for nothing", 2, 1, 1, soon, false, false, false},
		{"the first of several answers waits for the others", 10, 10, 1, soon, false, true, false},
		{"the last of several answers does not wait", 10, 10, 10, soon, false, false, false},
		{"after a pause nothing waits", 10, 10, 1, longAgo, false, false, false},
		{"in a large room a message waits for another", 64, 1, 1, soon, false, true, false},
		{"in a large room enough is more than an eighth of it", 64, 1, 9, soon, false, false, false},
		{"or as many as last time", 64, 20, 9, soon, false, true, false},
		{"in a large room nothing waits after a pause", 64, 20, 1, longAgo, false, false, false},
		{"what the room is does not wait", 64, 20, 1, soon, true, false, false},
		{"where it is to be prompt a large room is as a small one", 64, 1, 1, soon, false, false, true},
		{"where answers wait for one another", 64, 20, 9, soon, false, true, true},
	} {
		f, _ := crowd(t, c.seats, 1)
		o := *f.svc.opts()
		o.Prompt = c.prompt
		f.svc.current.Store(&o)
		f.svc.locked(func() {
			f.told, f.lately, f.stateless, f.pending = time.Now().Add(c.told), c.lately, c.stateless, make([]post, c.pending)
			if got := f.rests(); got != c.rests {
				t.Errorf("%s: it rests: %v", c.why, got)
			}
			f.pending, f.stateless = nil, false
		})
	}
}

// A rest ends by itself, and what waited is told.
func TestARestEnds(t *testing.T) {
	f, sinks := crowd(t, 64, 1)
	f.told = time.Now().Add(time.Hour)
	f.svc.locked(func() { f.put(post{from: f.seats[0].session, text: true, last: true, entry: f.entries[0]}) })
	for end := time.Now().Add(patience); f.svc.counts.deliveries.Load() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nobody was told")
		}
	}
	if sinks[1].writes != 1 {
		t.Errorf("a member was written to %d times", sinks[1].writes)
	}
}
