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
// or connect. It also has the UDP sockets of each port.
type portTable struct {
	mu     sync.Mutex
	claims map[uint16][]*portClaim
	udp    map[uint16][]*datagram
	groups map[groupKey]*listenerGroup
}

// portClaim is a TCP address of a bound socket.
type portClaim struct {
	owner     *stream
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
func (t *portTable) claim(owner *stream, a netip.AddrPort, reuse, share bool) (*portClaim, unix.Errno) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.claims == nil {
		t.claims = map[uint16][]*portClaim{}
	}
	p := &portClaim{owner: owner, addr: a, only6: owner.only6(), reuse: reuse, share: share}
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

// addUDP remembers a UDP socket by its port.
func (t *portTable) addUDP(port uint16, d *datagram) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.udp == nil {
		t.udp = map[uint16][]*datagram{}
	}
	t.udp[port] = append(t.udp[port], d)
}

// removeUDP forgets a UDP socket.
func (t *portTable) removeUDP(port uint16, d *datagram) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.udp[port] = slices.DeleteFunc(t.udp[port], func(o *datagram) bool { return o == d }); len(t.udp[port]) == 0 {
		delete(t.udp, port)
	}
}

// owners returns the sockets that are bound to a port.
func (t *portTable) owners(port uint16) (streams []*stream, datagrams []*datagram) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.claims[port] {
		streams = append(streams, p.owner)
	}
	return streams, slices.Clone(t.udp[port])
}

// releaseClosed frees a port from sockets that the program has closed, but whose goroutines have
// not noticed it yet: a call after close must not find them.
func (s *supervisor) releaseClosed(port uint16) {
	streams, datagrams := s.ports.owners(port)
	for _, t := range streams {
		t.releaseIfClosed()
	}
	for _, d := range datagrams {
		d.releaseIfClosed()
	}
}

// releaseIfClosed releases the address of a socket that is not connected, and that the program has
// closed.
func (t *stream) releaseIfClosed() {
	t.mu.Lock()
	closed := t.state == streamClosed || (t.state == streamIdle || t.state == streamListening) && t.end.hasHungUp()
	acceptor, claim := t.acceptor, t.claim
	t.mu.Unlock()
	if !closed {
		return
	}
	if acceptor != nil {
		acceptor.close()
	}
	t.s.ports.release(claim)
}

// releaseIfClosed releases the address of a socket that the program has closed, after it has sent
// what the program had written before.
func (d *datagram) releaseIfClosed() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || !d.end.hasHungUp() {
		return
	}
	d.end.raw.Control(func(fd uintptr) { //nolint:errcheck // closed: all was sent
		for d.sendWrittenLocked(int(fd)) == nil {
		}
	})
	d.closed = true
	d.closeUDPLocked()
}

// hasServer reports whether the program has bound a socket to a port.
func (t *portTable) hasServer(port uint16) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.claims[port]) > 0 || len(t.udp[port]) > 0
}
