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

// Peer is what is known of a client besides what it says. The zero value is a plain TCP connection.
type Peer struct {
	Addr        netip.Addr // of the client; zero: the connection's
	Secure      bool       // nobody on the way can read it
	Fingerprint string     // SHA-256 of the client's certificate, hex; "" for none
}

// visitors are the connections of one address, as package lobby counts.
type visitors struct {
	n              int
	pace, searches pace
}

// pace limits how often something is done: by the theoretical arrival time of GCRA, in nanoseconds.
// Shared by goroutines.
type pace struct{ at atomic.Int64 }

// wait is how long to wait before one more, at so many a second and ten times as many at once. None
// is taken while it waits.
func (p *pace) wait(now time.Time, perSecond int) time.Duration {
	step := int64(time.Second) / int64(perSecond)
	for {
		t, at := now.UnixNano(), p.at.Load()
		if early := at - t - 10*int64(time.Second); early > 0 {
			return time.Duration(early)
		}
		if p.at.CompareAndSwap(at, max(at, t)+step) {
			return 0
		}
	}
}

// charge takes n more without waiting for them: whoever comes next does.
func (p *pace) charge(now time.Time, perSecond, n int) {
	step := int64(time.Second) / int64(perSecond)
	for {
		at := p.at.Load()
		if p.at.CompareAndSwap(at, max(at, now.UnixNano())+int64(n)*step) {
			return
		}
	}
}

// addrOf is the address of a connection; zero when it has none, as on a Unix socket.
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

// local says that a client is on this machine, or has no address.
func (p Peer) local() bool { return !p.Addr.IsValid() || p.Addr.IsLoopback() }

// cloak is the host that others see instead of an address: the same for the same address while the
// service runs.
func (s *Service) cloak(a netip.Addr) string {
	b := a.As16()
	sum := sha256.Sum256(append(s.seed[:], b[:]...))
	return hex.EncodeToString(sum[:5]) + ".cloak"
}

// Session is the session of a new connection, nil when it is refused, of which the client was told.
// Serve calls it by way of Sessions; a listener that knows more about its clients calls it with
// what it knows.
func (s *Service) Session(c serve.Conn, p Peer) serve.Session {
	if !p.Addr.IsValid() {
		p.Addr = addrOf(c.RemoteAddr())
	}
	s.counts.connections.Add(1)
	session := newSession(s, c, p)
	crowded, why := s.admit(session)
	if crowded != nil {
		s.counts.crowded.Add(1)
		crowded.conn.Send([]byte("ERROR :Closing link (Others want to come in: be quicker)\r\n"))
		crowded.conn.Close()
	}
	if why != "" {
		s.counts.refused.Add(1)
		c.Send([]byte("ERROR :Closing link (" + why + ")\r\n"))
		return nil
	}
	c.Post() // so that it is woken, and says when next
	return session
}

// admit counts a connection, or says why it cannot be. Crowded, if not nil, has to go for it.
func (s *Service) admit(x *session) (crowded *session, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from, free := lobby.Network(x.peer.Addr), x.peer.local()
	v := s.perAddr[from]
	switch {
	case s.closed:
		return nil, "The server is stopping"
	case s.sessions >= s.opts().Connections:
		return nil, "The server is full"
	case v != nil && v.n >= s.opts().PerAddress && !free:
		return nil, "Too many connections from your address"
	}
	s.waiting.Bound(s.opts().Unknown, s.opts().UnknownEach)
	if x.place = s.waiting.Enter(x.peer.Addr, free, x); x.place == nil {
		return nil, "Too many connections from your address that have not registered"
	}
	s.count(x)
	s.unknown++
	crowded, _ = s.waiting.Crowded()
	return crowded, ""
}

// count counts a session, and those of its network.
func (s *Service) count(x *session) {
	from := lobby.Network(x.peer.Addr)
	if s.perAddr[from] == nil {
		s.perAddr[from] = new(visitors)
	}
	s.perAddr[from].n++
	s.sessions++
}

// dismiss is the end of what admit began.
func (s *Service) dismiss(p Peer) {
	s.sessions--
	from := lobby.Network(p.Addr)
	v := s.perAddr[from]
	v.n--
	s.forgetVisitors(from)
}

// forgetVisitors forgets a network that nobody is here from, but not what it has said too much: who
// comes again at once is not let off. The caller holds the lock.
func (s *Service) forgetVisitors(from netip.Prefix) {
	now := s.o.Now().UnixNano()
	if v := s.perAddr[from]; v.n == 0 && v.pace.at.Load() <= now && v.searches.at.Load() <= now {
		delete(s.perAddr, from)
	}
}
