// Package share limits how many exchanges are somewhere at once, so that one client leaves room for
// others.
//
// # Limitations
//
// Two clients can take all. Clients of loopback, and what has no address, have no share: they may
// take all. All users behind a load balancer that the server does not trust are one client.
package share

import (
	"fmt"
	"net/netip"
	"sync"

	"weir/web/internal/client"
)

// Limit lets so many in at once, and half of these of one client. Its methods may be called from
// any goroutine.
type Limit struct {
	most    int
	crowded func(line string)

	mu    sync.Mutex
	total int
	of    map[netip.Prefix]int // of clients with a share
}

// New makes a limit of most, at least 1. Crowded gets a line for the operator whenever a client is
// refused because of its share, while others would be let in; nil: there is no such line.
func New(most int, crowded func(line string)) *Limit {
	return &Limit{most: most, crowded: crowded, of: map[netip.Prefix]int{}}
}

// Enter lets an exchange from an address in, and reports whether it did. The caller calls Leave for
// each that was let in.
func (l *Limit) Enter(address string) bool {
	who := client.Limited(address)
	in, crowded := l.enter(who)
	if crowded && l.crowded != nil {
		l.crowded(fmt.Sprintf("%v has %d of %d places, which is the share of one client: its further requests are answered by 503; "+
			"if it is the address of a load balancer, name it in trusted, and each client behind it has a share", who, l.share(), l.most))
	}
	return in
}

// enter reports whether a client was let in, and whether it would have been but for its share.
func (l *Limit) enter(who netip.Prefix) (in, crowded bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.total >= l.most {
		return false, false
	}
	if who.IsValid() {
		if l.of[who] >= l.share() {
			return false, true
		}
		l.of[who]++
	}
	l.total++
	return true, false
}

// share is how many of one client are let in.
func (l *Limit) share() int { return (l.most + 1) / 2 }

// Leave ends what Enter began, with the same address.
func (l *Limit) Leave(address string) {
	who := client.Limited(address)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total--
	if !who.IsValid() {
		return
	}
	if l.of[who]--; l.of[who] == 0 {
		delete(l.of, who)
	}
}

// Inside is how many are in.
func (l *Limit) Inside() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total
}
