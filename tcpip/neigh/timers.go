package neigh

import (
	"math/rand/v2"
	"time"
)

// Limits of what routers may announce. Any host on the link can send an advertisement: a short time
// would cause a flood of requests, and a long one would keep a neighbour that has left in use. RFC
// 4861, section 6.2.1, limits the reachable time to an hour; a host that is gone should be noticed
// sooner.
const (
	minReachable = 5 * time.Second
	maxReachable = 10 * time.Minute
	minRetrans   = 200 * time.Millisecond
	maxRetrans   = 10 * time.Second
)

// Timers are the times that routers announce for IPv6 neighbours (RFC 4861, section 6.3.2). The
// zero value has the defaults.
type Timers struct {
	Rand *rand.Rand // spreads the reachable time; nil: it is not spread

	base    time.Duration // BaseReachableTime; 0: the default
	retrans time.Duration // RetransTimer; 0: the default
}

// Set sets the Reachable Time and the Retrans Timer of an advertisement, within the limits. A zero
// time leaves that in use (RFC 4861, section 6.3.4).
func (t *Timers) Set(reachable, retrans time.Duration) {
	if reachable > 0 {
		t.base = min(max(reachable, minReachable), maxReachable)
	}
	if retrans > 0 {
		t.retrans = min(max(retrans, minRetrans), maxRetrans)
	}
}

// reachableTime returns how long a neighbour is Reachable after an answer: for IPv6, 0.5 to 1.5
// times BaseReachableTime, so that hosts do not probe in step (RFC 4861, section 6.3.2).
func (t *Table) reachableTime(n *Neighbour) Time {
	base := Time(reachableTime)
	if n.Addr.Is4() {
		return base
	}
	if t.Timers.base != 0 {
		base = Time(t.Timers.base)
	}
	if t.Timers.Rand != nil {
		return base/2 + Time(t.Timers.Rand.Int64N(int64(base)))
	}
	return base
}

// requestInterval returns the time between requests to a neighbour.
func (t *Table) requestInterval(n *Neighbour) Time {
	if t.Timers.retrans != 0 && n.Addr.Is6() {
		return Time(t.Timers.retrans)
	}
	return Time(requestInterval)
}

// probeWait6 returns how long after a probe an IPv6 address is held (RFC 4862, section 5.4): at
// least a second, so that no router can end the detection of duplicates before they answer.
func (t *Timers) probeWait6() Time {
	if t == nil {
		return Time(requestInterval)
	}
	return Time(max(requestInterval, t.retrans))
}
