package tcpip

import (
	"net/netip"
	"sync"

	"weir/wire"
)

// tuple names a connection.
type tuple struct{ local, remote netip.AddrPort }

// connTable holds the connections but those in TIME-WAIT.
type connTable struct {
	mu     sync.RWMutex
	of     map[tuple]*Conn
	shares shares // of the connections; those that this host dialed have no client
	closed bool   // the stack is: nobody would end what is put in
}

// leastConns is how many connections a client may have whatever others leave.
const leastConns = 16

func (t *connTable) init(most int) {
	t.of, t.shares = map[tuple]*Conn{}, shares{most: most, least: leastConns}
}

// full says whether there are as many as there may be.
func (t *connTable) full() bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return !t.shares.fits(netip.Addr{}, 1)
}

func (t *connTable) get(k tuple) *Conn {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.of[k]
}

// add puts c in, if its name is free, there is room for one more of its client and the stack runs.
func (t *connTable) add(c *Conn) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || t.of[c.key] != nil || !t.shares.take(c.client, 1) {
		return false
	}
	t.of[c.key] = c
	return true
}

func (t *connTable) remove(c *Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of[c.key] == c {
		delete(t.of, c.key)
		t.shares.give(c.client, 1)
	}
}

// close gives all there are, and has no others be put in.
func (t *connTable) close() []*Conn {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	return t.all()
}

func (t *connTable) all() (all []*Conn) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, c := range t.of {
		all = append(all, c)
	}
	return all
}

// iss is an initial sequence number (RFC 6528): a clock that ticks every 4 us, and a secret
// function of the connection's name. The second number is where its timestamps begin, which depends
// on the two hosts alone, so that a connection that follows another has later ones (RFC 7323,
// section 5.4).
func (s *Stack) iss(k tuple) (wire.Seq, uint32) {
	local, remote := k.local.Addr().As16(), k.remote.Addr().As16()
	var name [36]byte
	copy(name[:], local[:])
	copy(name[16:], remote[:])
	stamp := siphash(&s.secret, name[:32])
	name[32], name[33] = byte(k.local.Port()>>8), byte(k.local.Port())
	name[34], name[35] = byte(k.remote.Port()>>8), byte(k.remote.Port())
	return wire.Seq(uint32(siphash(&s.secret, name[:])) + uint32(s.now()/4000)), uint32(stamp)
}
