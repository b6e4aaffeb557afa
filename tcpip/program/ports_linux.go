//go:build amd64 || arm64

package program

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// Ports that bind chooses: those that the stack does not choose for connections.
const (
	firstPort = 32768
	lastPort  = 49151
)

// portTable has the TCP ports that sockets are bound to: the stack learns of them when they listen
// or connect. It also counts the UDP sockets of each port.
type portTable struct {
	mu     sync.Mutex
	claims map[uint16][]*portClaim
	udp    map[uint16]int
	groups map[groupKey]*listenerGroup
}

// portClaim is a TCP address of a bound socket.
type portClaim struct {
	addr      netip.AddrPort
	only6     bool
	reuse     bool // SO_REUSEADDR
	share     bool // SO_REUSEPORT
	listening bool
}

// overlaps reports whether two claims of the same port have an address in common.
func (p *portClaim) overlaps(q *portClaim) bool {
	return p.includes(q.addr.Addr()) || q.includes(p.addr.Addr())
}

func (p *portClaim) includes(a netip.Addr) bool {
	switch p.addr.Addr() {
	case a:
		return true
	case netip.IPv4Unspecified():
		return a.Is4()
	case netip.IPv6Unspecified():
		return a.Is6() || !p.only6
	}
	return false
}

// conflicts reports whether two sockets may not be bound to the addresses at once.
func (p *portClaim) conflicts(q *portClaim) bool {
	if p == q || !p.overlaps(q) || p.share && q.share {
		return false
	}
	return !p.reuse || !q.reuse || p.listening || q.listening
}

// claim binds a socket to an address; port 0 is any free one.
func (t *portTable) claim(a netip.AddrPort, only6, reuse, share bool) (*portClaim, unix.Errno) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.claims == nil {
		t.claims = map[uint16][]*portClaim{}
	}
	p := &portClaim{addr: a, only6: only6, reuse: reuse, share: share}
	if a.Port() != 0 {
		return p, t.addLocked(p)
	}
	const ports = lastPort - firstPort + 1
	for i, first := 0, rand.IntN(ports); i < ports; i++ {
		p.addr = netip.AddrPortFrom(a.Addr(), uint16(firstPort+(first+i)%ports))
		if len(t.claims[p.addr.Port()]) == 0 {
			return p, t.addLocked(p)
		}
	}
	return nil, unix.EADDRINUSE
}

func (t *portTable) addLocked(p *portClaim) unix.Errno {
	all := t.claims[p.addr.Port()]
	if slices.ContainsFunc(all, p.conflicts) {
		return unix.EADDRINUSE
	}
	t.claims[p.addr.Port()] = append(all, p)
	return 0
}

// listen marks a claim as that of a listener. It fails while another one listens.
func (t *portTable) listen(p *portClaim) unix.Errno {
	t.mu.Lock()
	defer t.mu.Unlock()
	if slices.ContainsFunc(t.claims[p.addr.Port()], func(q *portClaim) bool { return p != q && q.listening && p.overlaps(q) && !(p.share && q.share) }) {
		return unix.EADDRINUSE
	}
	p.listening = true
	return 0
}

// release ends a claim; nil: there is none.
func (t *portTable) release(p *portClaim) {
	if p == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	port := p.addr.Port()
	if t.claims[port] = slices.DeleteFunc(t.claims[port], func(q *portClaim) bool { return p == q }); len(t.claims[port]) == 0 {
		delete(t.claims, port)
	}
}

// countUDP adds to the number of UDP sockets of a port.
func (t *portTable) countUDP(port uint16, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.udp == nil {
		t.udp = map[uint16]int{}
	}
	if t.udp[port] += n; t.udp[port] == 0 {
		delete(t.udp, port)
	}
}

// hasServer reports whether the program has bound a socket to a port.
func (t *portTable) hasServer(port uint16) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.claims[port]) > 0 || t.udp[port] > 0
}
