package tcpip

import (
	"net/netip"
	"sync"

	"weir/wire"
)

// tuple identifies a connection.
type tuple struct{ local, remote netip.AddrPort }

// connTable has all connections except those in TIME-WAIT.
type connTable struct {
	mu      sync.RWMutex
	byTuple map[tuple]*Conn
	// use of the table by client; connections that this host dialed have no client
	shares clientShares
	light  int  // connections of a client that are light: see heavyBudget. Immutable
	closed bool // the stack is closed: add fails
}

// guaranteedConns is how many connections a client may have whatever others leave.
const guaranteedConns = 16

func (t *connTable) init(most, light int) {
	t.light = light
	t.byTuple, t.shares = map[tuple]*Conn{}, clientShares{limit: most, guaranteed: guaranteedConns}
}

// isFull reports whether the table has as many connections as it may.
func (t *connTable) isFull() bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return !t.shares.fits(netip.Addr{}, 1)
}

func (t *connTable) get(k tuple) *Conn {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.byTuple[k]
}

// add adds c, and reports whether its tuple was free, its client may have another connection, and
// the stack is open.
func (t *connTable) add(c *Conn) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || t.byTuple[c.key] != nil || !t.shares.acquire(c.client, 1) {
		return false
	}
	if c.client.IsValid() && t.shares.perClient[c.client] > t.light {
		c.tcp.SetHeavy()
	}
	t.byTuple[c.key] = c
	return true
}

func (t *connTable) remove(c *Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byTuple[c.key] == c {
		delete(t.byTuple, c.key)
		t.shares.release(c.client, 1)
	}
}

// close returns all connections; add fails from then on.
func (t *connTable) close() []*Conn {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	return t.all()
}

func (t *connTable) all() (all []*Conn) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, c := range t.byTuple {
		all = append(all, c)
	}
	return all
}

// initialSeq returns an initial sequence number (RFC 6528): a clock that ticks every 4 us plus a
// keyed hash of the tuple. The second result is the start of its timestamps, a hash of the two
// addresses only: timestamps continue from one connection to the next (RFC 7323, section 5.4).
func (s *Stack) initialSeq(k tuple) (wire.Seq, uint32) {
	local, remote := k.local.Addr().As16(), k.remote.Addr().As16()
	var name [36]byte
	copy(name[:], local[:])
	copy(name[16:], remote[:])
	stamp := siphash(&s.secret, name[:32])
	name[32], name[33] = byte(k.local.Port()>>8), byte(k.local.Port())
	name[34], name[35] = byte(k.remote.Port()>>8), byte(k.remote.Port())
	return wire.Seq(uint32(siphash(&s.secret, name[:])) + uint32(s.now()/4000)), uint32(stamp)
}
