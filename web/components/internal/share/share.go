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

// Limit admits a number of exchanges at once, and half that number of one client. Its methods are
// safe for concurrent use.
type Limit struct {
	max         int
	onOverLimit func(line string)

	mu       sync.Mutex
	total    int
	byClient map[netip.Prefix]int // admitted exchanges of clients that have a share
}

// New returns a limit of max exchanges, at least 1. onOverLimit is called with a line for the
// operator whenever a client is rejected because of its share, while others would be admitted; nil:
// not called.
func New(max int, onOverLimit func(line string)) *Limit {
	return &Limit{max: max, onOverLimit: onOverLimit, byClient: map[netip.Prefix]int{}}
}

// Enter reports whether an exchange from an address is admitted. The caller must call Leave for
// each one that is.
func (l *Limit) Enter(address string) bool {
	who := client.Limited(address)
	in, crowded := l.enter(who)
	if crowded && l.onOverLimit != nil {
		l.onOverLimit(fmt.Sprintf("%v has %d of %d places, which is the share of one client: its further requests are answered by 503; "+
			"if it is the address of a load balancer, add it to trusted, so that each client behind it has a share", who, l.share(), l.max))
	}
	return in
}

// enter reports whether a client is admitted, and whether only its share prevents it.
func (l *Limit) enter(who netip.Prefix) (in, crowded bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.total >= l.max {
		return false, false
	}
	if who.IsValid() {
		if l.byClient[who] >= l.share() {
			return false, true
		}
		l.byClient[who]++
	}
	l.total++
	return true, false
}

// share returns how many exchanges of one client are admitted.
func (l *Limit) share() int { return (l.max + 1) / 2 }

// Leave undoes an Enter that returned true, with the same address.
func (l *Limit) Leave(address string) {
	who := client.Limited(address)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total--
	if !who.IsValid() {
		return
	}
	if l.byClient[who]--; l.byClient[who] == 0 {
		delete(l.byClient, who)
	}
}

// Inside returns the number of admitted exchanges.
func (l *Limit) Inside() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total
}
