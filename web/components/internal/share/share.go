// Package share limits how many exchanges are somewhere at once, so that one client leaves room for others.
//
// # Limitations
//
// Two clients can take all. Clients of loopback, and what has no address, have no share: they may take all.
package share

import (
	"net/netip"
	"sync"

	"weir/web/internal/client"
)

// Limit lets so many in at once, and half of these of one client. Its methods may be called from any goroutine.
type Limit struct {
	most int

	mu    sync.Mutex
	total int
	of    map[netip.Prefix]int // of clients with a share
}

// New makes a limit of most, at least 1.
func New(most int) *Limit { return &Limit{most: most, of: map[netip.Prefix]int{}} }

// Enter lets an exchange from an address in, and reports whether it did. Who was let in leaves.
func (l *Limit) Enter(address string) bool {
	who := counted(address)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.total >= l.most || who.IsValid() && l.of[who] >= (l.most+1)/2 {
		return false
	}
	l.total++
	if who.IsValid() {
		l.of[who]++
	}
	return true
}

// Leave ends what Enter began, with the same address.
func (l *Limit) Leave(address string) {
	who := counted(address)
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

// counted is who has a share; the zero prefix: nobody.
func counted(address string) netip.Prefix {
	if a, ok := client.Parse(address); !ok || a.IsLoopback() {
		return netip.Prefix{}
	}
	return client.Network(address)
}
