package chat

import (
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"weir/chat/internal/lobby"
	"weir/serve"
)

// Peer is what the listener knows of a client. The zero value is a plain TCP connection.
type Peer struct {
	Addr        netip.Addr // the client's address; zero: that of the connection
	Secure      bool       // the connection is encrypted
	Fingerprint string     // SHA-256 of the client's certificate in hex; "": none
}

// networkUse counts the connections of one network (see package lobby) and limits its commands and
// searches.
type networkUse struct {
	connections    int
	pace, searches pace
}

// pace is a rate limit by the generic cell rate algorithm (GCRA): nextAt is the theoretical arrival
// time in nanoseconds. Safe for concurrent use.
type pace struct{ nextAt atomic.Int64 }

// wait takes one unit at a rate of perSecond, with bursts of ten seconds' worth, and returns 0. If
// none is free it takes none and returns the time until one is.
func (p *pace) wait(now time.Time, perSecond int) time.Duration {
	step := int64(time.Second) / int64(perSecond)
	for {
		t, at := now.UnixNano(), p.nextAt.Load()
		if early := at - t - 10*int64(time.Second); early > 0 {
			return time.Duration(early)
		}
		if p.nextAt.CompareAndSwap(at, max(at, t)+step) {
			return 0
		}
	}
}

// charge takes n more units without waiting; later calls of wait see them.
func (p *pace) charge(now time.Time, perSecond, n int) {
	step := int64(time.Second) / int64(perSecond)
	for {
		at := p.nextAt.Load()
		if p.nextAt.CompareAndSwap(at, max(at, now.UnixNano())+int64(n)*step) {
			return
		}
	}
}

// addrOf returns the address of a connection; zero if it has none, as on a Unix socket.
func addrOf(a net.Addr) netip.Addr {
	if t, ok := a.(*net.TCPAddr); ok {
		return t.AddrPort().Addr().Unmap().WithZone("")
	}
	if a == nil {
		return netip.Addr{}
	}
	p, _ := netip.ParseAddrPort(a.String())
	return p.Addr().Unmap()
}

// isLocal reports whether a client is on this machine, or has no address.
func (p Peer) isLocal() bool { return !p.Addr.IsValid() || p.Addr.IsLoopback() }

// cloak returns the host shown to other clients instead of an address. The same address has the
// same cloak until the service restarts.
func (s *Service) cloak(a netip.Addr) string {
	b := a.As16()
	sum := sha256.Sum256(append(s.cloakSeed[:], b[:]...))
	return hex.EncodeToString(sum[:5]) + ".cloak"
}

// Session returns the session of a new connection. It returns nil if it refuses the connection; the
// client has been sent the reason. Package serve calls it through Sessions. A listener that knows
// more about its clients calls it with that knowledge.
func (s *Service) Session(c serve.Conn, p Peer) serve.Session {
	if !p.Addr.IsValid() {
		p.Addr = addrOf(c.RemoteAddr())
	}
	s.counters.connections.Add(1)
	session := newSession(s, c, p)
	evicted, reason := s.admitConnection(session)
	if evicted != nil {
		s.counters.evicted.Add(1)
		evicted.conn.Send([]byte("ERROR :Closing link (Too many unregistered connections: register sooner)\r\n"))
		evicted.conn.Close()
	}
	if reason != "" {
		s.counters.refused.Add(1)
		c.Send([]byte("ERROR :Closing link (" + reason + ")\r\n"))
		return nil
	}
	c.Post() // so that it is woken and sets its timer
	return session
}

// admitConnection admits and counts a connection, or returns why not. If evicted is not nil, its
// connection must be closed to make room.
func (s *Service) admitConnection(x *session) (evicted *session, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from, free := lobby.Network(x.peer.Addr), x.peer.isLocal()
	v := s.networks[from]
	switch {
	case s.phase != phaseOpen:
		return nil, "The server is stopping"
	case s.sessionCount >= s.options().MaxConnections:
		return nil, "The server is full"
	case v != nil && v.connections >= s.options().MaxPerAddress && !free:
		return nil, "Too many connections from your address"
	}
	s.lobby.SetLimits(s.options().MaxUnregistered, s.options().MaxUnregisteredPerAddress)
	if x.lobbyPlace = s.lobby.Enter(x.peer.Addr, free, x); x.lobbyPlace == nil {
		return nil, "Too many connections from your address that have not registered"
	}
	s.countSession(x)
	s.unregisteredCount++
	evicted, _ = s.lobby.EvictOldest()
	return evicted, ""
}

// countSession counts a session and its network's connections.
func (s *Service) countSession(x *session) {
	from := lobby.Network(x.peer.Addr)
	if s.networks[from] == nil {
		s.networks[from] = new(networkUse)
	}
	s.networks[from].connections++
	s.sessionCount++
}

// uncountSession undoes countSession.
func (s *Service) uncountSession(p Peer) {
	s.sessionCount--
	from := lobby.Network(p.Addr)
	v := s.networks[from]
	v.connections--
	s.forgetNetworkLocked(from)
}

// forgetNetworkLocked forgets a network without connections, unless a rate limit of it is in use:
// reconnecting must not reset the limit. The caller holds mu.
func (s *Service) forgetNetworkLocked(from netip.Prefix) {
	now := s.fixed.Now().UnixNano()
	if v := s.networks[from]; v.connections == 0 && v.pace.nextAt.Load() <= now && v.searches.nextAt.Load() <= now {
		delete(s.networks, from)
	}
}
