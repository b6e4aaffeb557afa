package core

import (
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"time"

	"weir/chat/environment"
	"weir/chat/internal/lobby"
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
// time in nanoseconds.
type pace struct{ nextAt int64 }

// wait takes one unit at a rate of perSecond, with bursts of ten seconds' worth, and returns 0. If
// none is free it takes none and returns the time until one is.
func (p *pace) wait(now time.Time, perSecond int) time.Duration {
	t := now.UnixNano()
	if early := p.nextAt - t - 10*int64(time.Second); early > 0 {
		return time.Duration(early)
	}
	p.charge(now, perSecond, 1)
	return 0
}

// charge takes n units without waiting; later calls of wait see them.
func (p *pace) charge(now time.Time, perSecond, n int) {
	p.nextAt = max(p.nextAt, now.UnixNano()) + int64(n)*int64(time.Second)/int64(perSecond)
}

// isLocal reports whether a client is on this machine, or has no address.
func (p Peer) isLocal() bool { return !p.Addr.IsValid() || p.Addr.IsLoopback() }

// cloak returns the host shown to other clients instead of an address. The same address has the
// same cloak until the service restarts.
func (s *Core) cloak(a netip.Addr) string {
	b := a.As16()
	sum := sha256.Sum256(append(s.cloakSeed[:], b[:]...))
	return hex.EncodeToString(sum[:5]) + ".cloak"
}

// Connect returns the session of a new connection. It returns nil if it refuses the connection; the
// client has been sent the reason.
func (s *Core) Connect(c environment.Conn, p Peer) *Session {
	s.counts.Connections++
	x := newSession(s, c, p)
	evicted, reason := s.admitConnection(x)
	if evicted != nil {
		s.counts.Evicted++
		evicted.conn.Send([]byte("ERROR :Closing link (Too many unregistered connections: register sooner)\r\n"))
		evicted.conn.Close()
	}
	if reason != "" {
		s.counts.Refused++
		c.Send([]byte("ERROR :Closing link (" + reason + ")\r\n"))
		return nil
	}
	c.Post() // so that it is woken and sets its timer
	return x
}

// admitConnection admits and counts a connection, or returns why not. If evicted is not nil, its
// connection must be closed to make room.
func (s *Core) admitConnection(x *Session) (evicted *Session, reason string) {
	from, free := lobby.Network(x.peer.Addr), x.peer.isLocal()
	v := s.networks[from]
	switch {
	case s.closing:
		return nil, "The server is stopping"
	case s.sessionCount >= s.Options().MaxConnections:
		return nil, "The server is full"
	case v != nil && v.connections >= s.Options().MaxPerAddress && !free:
		return nil, "Too many connections from your address"
	}
	s.lobby.SetLimits(s.Options().MaxUnregistered, s.Options().MaxUnregisteredPerAddress)
	if x.lobbyPlace = s.lobby.Enter(x.peer.Addr, free, x); x.lobbyPlace == nil {
		return nil, "Too many connections from your address that have not registered"
	}
	s.countSession(x)
	s.unregisteredCount++
	evicted, _ = s.lobby.EvictOldest()
	return evicted, ""
}

// countSession counts a session and its network's connections.
func (s *Core) countSession(x *Session) {
	from := lobby.Network(x.peer.Addr)
	if s.networks[from] == nil {
		s.networks[from] = new(networkUse)
	}
	s.networks[from].connections++
	s.sessionCount++
}

// uncountSession undoes countSession.
func (s *Core) uncountSession(p Peer) {
	s.sessionCount--
	from := lobby.Network(p.Addr)
	v := s.networks[from]
	v.connections--
	s.forgetNetwork(from)
}

// forgetNetwork forgets a network without connections, unless a rate limit of it is in use:
// reconnecting must not reset the limit.
func (s *Core) forgetNetwork(from netip.Prefix) {
	now := s.now.UnixNano()
	if v := s.networks[from]; v.connections == 0 && v.pace.nextAt <= now && v.searches.nextAt <= now {
		delete(s.networks, from)
	}
}
