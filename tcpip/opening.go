package tcpip

import (
	"net/netip"
	"sync/atomic"

	"weir/tcpip/tcp"
	"weir/wire"
)

// opened is the connection that a segment of no connection opens, if a listener takes it; otherwise
// whoever sent the segment is told.
func (p *packet) opened(k tuple, seg *tcp.Segment) *Conn {
	l := p.lane.s.ports.listener(k.local)
	taken, follows := p.lane.s.waits.arrive(k, seg, l != nil, p.now)
	if taken {
		return nil
	}
	if l != nil {
		switch kind := seg.Flags & (wire.SYN | wire.ACK | wire.RST); {
		case kind == wire.SYN:
			return p.synced(l, k, seg, follows)
		case kind == wire.ACK && p.now < tcp.Time(l.pressed.Load()):
			if c, is := p.returned(l, k, seg); is {
				return c
			}
		case kind == 0: // RFC 9293, section 3.10.7.2
			p.drop(DropTCPPort)
			return nil
		}
	}
	if seg.Flags&wire.RST == 0 {
		p.lane.s.refuse(k, seg)
	}
	p.drop(DropTCPPort)
	return nil
}

// synced is the connection that a SYN opens. When the listener has enough that are being opened, it
// is answered with a cookie, and nothing is kept; when nobody accepts those that are open, it is
// dropped (as Linux).
func (p *packet) synced(l *Listener, k tuple, seg *tcp.Segment, follows follower) *Conn {
	s := p.lane.s
	if l.full(p.client()) {
		p.drop(DropBacklog)
		return nil
	}
	iss, stamp := s.iss(k)
	if !l.begin() {
		l.pressed.Store(int64(p.now.Add(tcp.CookieLifetime)))
		s.cookies.given.Add(1)
		o := tcp.CookieSYNACK(p.lane.iface.tcpConfig(), s.cookieHash(k), stamp, seg, p.now)
		s.sendAlone(k, &o)
		return nil
	}
	c := s.newConn(p.lane, k)
	c.client, c.listener = p.client(), l
	c.begin(tcp.Accept(c.cfg, follows.iss(iss), stamp, seg, p.now))
	if !s.conns.add(c) {
		l.end()
		p.drop(DropBacklog)
		return nil
	}
	return c
}

// returned says whether a segment brings a cookie back, and is the connection that it opens, if
// there is room.
func (p *packet) returned(l *Listener, k tuple, seg *tcp.Segment) (c *Conn, is bool) {
	s := p.lane.s
	_, stamp := s.iss(k)
	state := tcp.AcceptCookie(p.lane.iface.tcpConfig(), s.cookieHash(k), stamp, seg, p.now)
	if state == nil {
		return nil, false
	}
	from := p.client()
	if !l.keep(from) {
		p.drop(DropBacklog) // its next segment brings the cookie back once more
		state.Release()
		return nil, true
	}
	s.cookies.taken.Add(1)
	c = s.newConn(p.lane, k)
	c.client, c.listener, c.kept = from, l, true
	c.begin(state)
	l.opening.Add(1) // until it is given to Accept
	if !s.conns.add(c) {
		l.end()
		l.leave(from)
		p.drop(DropBacklog)
		state.Release()
		return nil, true
	}
	return c, true
}

// finishing takes a segment of a connection that is being opened, if there is room for it at its
// listener when the handshake is through. When there is none, its SYN is answered again until
// somebody accepts (as Linux). The caller holds mu.
func (c *Conn) finishing(seg *tcp.Segment, now tcp.Time) {
	l := c.listener
	if !l.keep(c.client) {
		if seg.Flags&wire.RST != 0 {
			c.tcp.Arrive(now, seg)
			return
		}
		c.s.drops.add(DropBacklog)
		return
	}
	c.tcp.Arrive(now, seg)
	if s := c.tcp.State(); s == tcp.SynReceived || s == tcp.Closed {
		l.leave(c.client)
		return
	}
	c.kept = true
}

// client is the client that sent the packet; zero: this host.
func (p *packet) client() netip.Addr {
	if p.lane.iface.local {
		return netip.Addr{}
	}
	return client(p.ip.Src())
}

// begin gives a new connection its state. As in the net package, what is written goes at once.
func (c *Conn) begin(state *tcp.Conn) {
	state.SetNoDelay(true)
	c.tcp = state
}

// cookieCounts count the SYN cookies of a stack.
type cookieCounts struct {
	given atomic.Uint64 // SYNs answered with nothing kept
	taken atomic.Uint64 // connections that they opened
}

// Cookies are how many SYNs were answered with cookies, because too many connections were being
// opened, and how many connections came of them.
func (s *Stack) Cookies() (given, taken uint64) {
	return s.cookies.given.Load(), s.cookies.taken.Load()
}

// cookieHash is what hides a connection's cookies.
func (s *Stack) cookieHash(k tuple) tcp.CookieHash {
	var name [18]byte
	local, remote := k.local.Addr().As4(), k.remote.Addr().As4()
	copy(name[:], local[:])
	copy(name[4:], remote[:])
	name[8], name[9] = byte(k.local.Port()>>8), byte(k.local.Port())
	name[10], name[11] = byte(k.remote.Port()>>8), byte(k.remote.Port())
	return func(kind byte, count uint32) uint32 {
		name[12], name[13], name[14], name[15], name[16] = 'c', kind, byte(count>>16), byte(count>>8), byte(count)
		return uint32(siphash(&s.secret, name[:]))
	}
}

// refuse answers a segment that nobody waits for (RFC 9293, section 3.10.7.1).
func (s *Stack) refuse(k tuple, seg *tcp.Segment) {
	o := tcp.OutSegment{Flags: wire.RST}
	if seg.Flags&wire.ACK != 0 {
		o.Seq = seg.Ack
	} else {
		o.Flags |= wire.ACK
		o.Ack = seg.End()
	}
	s.sendAlone(k, &o)
}

// sendAlone sends a segment of no connection, without payload.
func (s *Stack) sendAlone(k tuple, o *tcp.OutSegment) {
	var options [40]byte
	f := wire.TCPFields{Src: k.local, Dst: k.remote, Seq: o.Seq, Ack: o.Ack, Flags: o.Flags, Window: o.Window, Options: o.Options.Append(options[:0])}
	s.sendIP(wire.IPv4Fields{DontFragment: true, Protocol: wire.TCPProtocol, Src: k.local.Addr(), Dst: k.remote.Addr()}, wire.AppendTCP(nil, &f)) //nolint:errcheck // it is counted
}
