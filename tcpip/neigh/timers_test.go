package neigh

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"
)

var them6 = netip.MustParseAddr("fe80::2")

// RFC 4861, section 6.3.4: the times of advertisements are used, within limits, for IPv6
// neighbours. A zero time is none.
func TestAnnouncedTimersAreUsedWithinLimits(t *testing.T) {
	for _, c := range []struct {
		name               string
		addr               netip.Addr
		reachable, retrans time.Duration // announced, after 20 s and 2 s
		stayed, interval   time.Duration // measured
	}{
		{"unspecified", them6, 0, 0, 20 * time.Second, 2 * time.Second},
		{"within the limits", them6, time.Minute, 500 * time.Millisecond, time.Minute, 500 * time.Millisecond},
		{"that would cause a flood", them6, 1, 1, minReachable, minRetrans},
		{"that would make detection useless", them6, 1193 * time.Hour, 1193 * time.Hour, maxReachable, maxRetrans},
		{"for neighbours by ARP", them, time.Minute, 5 * time.Second, reachableTime, requestInterval},
	} {
		n, l := &Table{MAC: ours}, &log{}
		n.Timers.Set(20*time.Second, 2*time.Second)
		n.Timers.Set(c.reachable, c.retrans)
		n.Queue(c.addr, []byte("one"), second, l)
		if next := n.Tick(second, l); next != second+Time(c.interval) {
			t.Errorf("timers %s: the next request is %v after the first, want %v", c.name, time.Duration(next-second), c.interval)
		}
		x := n.neighbours[c.addr]
		n.learn(x, theirs, true, second, l)
		if next := n.Tick(second, l); next != second+Time(c.stayed) {
			t.Errorf("timers %s: reachable for %v, want %v", c.name, time.Duration(next-second), c.stayed)
		}
	}
}

// RFC 4861, section 6.3.2: the reachable time is between half and one and a half of what is
// announced, another one each time.
func TestReachableTimesAreSpread(t *testing.T) {
	n := &Table{MAC: ours, Timers: Timers{Rand: rand.New(rand.NewPCG(1, 2))}}
	n.Timers.Set(time.Minute, 0)
	seen := map[Time]bool{}
	for range 100 {
		got := n.reachableTime(&Neighbour{Addr: them6})
		if got < 30*second || got >= 90*second {
			t.Errorf("got the reachable time %v, want 30 to 90 s", time.Duration(got))
		}
		seen[got] = true
	}
	if len(seen) < 90 {
		t.Errorf("got %d different times in 100, want most to differ", len(seen))
	}
}

// RFC 4862, section 5.4: an address is held a Retrans Timer after its probe. No router makes that
// less than a second.
func TestDuplicateDetectionWaitsForTheRetransTimer(t *testing.T) {
	for announced, want := range map[time.Duration]time.Duration{0: time.Second, time.Millisecond: time.Second, 3 * time.Second: 3 * time.Second, time.Hour: maxRetrans} {
		c, l := newClaims(Keep)
		c.Timers = &Timers{}
		c.Timers.Set(0, announced)
		c.Claim(them6, true, second, l)
		at, _ := runUntil(c, l, second, 60*second)
		if len(at) < 2 || l.entries[1] != "hold fe80::2" || at[1]-at[0] != want {
			t.Errorf("announced %v: %q at %v, want the address held %v after the probe", announced, l.entries, at, want)
		}
	}
}
