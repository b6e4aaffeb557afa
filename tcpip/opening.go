package tcpip

import (
	"encoding/binary"
	"net/netip"
	"sync/atomic"

	"weir/tcpip/tcp"
	"weir/wire"
)

// openFromSegment handles a segment that matches no connection. It returns the connection that the
// segment opens; nil if none, and then answers with a reset where the RFC asks for one.
func (p *packet) openFromSegment(k tuple, seg *tcp.Segment) *Conn {
	var l *Listener
	if !p.forwarded { // a listener at all addresses is one at the stack's
		l = p.reader.s.listeners.lookup(k.local)
	}
	taken, floor := p.reader.s.timeWaits.receiveSegment(k, seg, l != nil || p.forwarded, p.now)
	if taken {
		return nil
	}
	if p.forwarded && seg.Flags&(wire.SYN|wire.ACK|wire.RST) == wire.SYN {
		p.forwardSYN(k, seg)
		return nil
	}
	if l != nil {
		switch kind := seg.Flags & (wire.SYN | wire.ACK | wire.RST); {
		case kind == wire.SYN:
			return p.openFromSYN(l, k, seg, floor)
		case kind == wire.ACK && p.now < tcp.Time(l.cookiesUntil.Load()):
			if c, is := p.openFromCookie(l, k, seg); is {
				return c
			}
		case kind == 0: // LISTEN drops it (RFC 9293, section 3.10.7.2)
			p.drop(DropTCPPort)
			return nil
		}
	}
	if seg.Flags&wire.RST == 0 {
		p.reader.s.sendReset(k, seg)
	}
	p.drop(DropTCPPort)
	return nil
}

// openFromSYN returns the connection that a SYN opens; nil: none. If the client's backlog is full,
// it drops the SYN (as Linux). If too many handshakes are under way, it answers with a SYN cookie
// and keeps no state.
func (p *packet) openFromSYN(l *Listener, k tuple, seg *tcp.Segment, floor issFloor) *Conn {
	s := p.reader.s
	if l.backlogFull(p.clientAddr()) {
		p.drop(DropBacklog)
		return nil
	}
	iss, stamp := s.initialSeq(k)
	if !l.beginHandshake() {
		l.cookiesUntil.Store(int64(p.now.Add(tcp.CookieLifetime)))
		s.cookies.sent.Add(1)
		o := tcp.CookieSYNACK(l.tcpConfig(p.reader.iface, p.src), s.cookieHash(k), stamp, seg, p.now)
		s.sendStateless(k, &o)
		return nil
	}
	c := s.newConn(p.reader, k)
	c.client, c.listener, c.cfg, c.tos = p.clientAddr(), l, l.tcpConfig(p.reader.iface, p.src), l.tos&^ecnMarked
	c.initState(c.acceptSYN(l, floor.atLeast(iss), stamp, seg, p.now))
	early := c.tcp.Accepted()
	if !s.conns.add(c) {
		l.endHandshake()
		if early {
			c.stopFastOpen(l, p.now)
			c.tcp.Abort(p.now)
			c.tcp.Release()
		}
		p.drop(DropBacklog)
		return nil
	}
	if early {
		c.handOverEarly(p.now)
	}
	return c
}

// openFromCookie handles an ACK that may return a SYN cookie. ok is false if the cookie is invalid.
// c is the connection; nil if there is no room for it.
func (p *packet) openFromCookie(l *Listener, k tuple, seg *tcp.Segment) (c *Conn, ok bool) {
	s := p.reader.s
	_, stamp := s.initialSeq(k)
	state := tcp.AcceptCookie(l.tcpConfig(p.reader.iface, p.src), s.cookieHash(k), stamp, seg, p.now)
	if state == nil {
		return nil, false
	}
	from := p.clientAddr()
	if !l.reserve(from) {
		p.drop(DropBacklog) // the client's next segment carries the cookie too
		state.Release()
		return nil, true
	}
	s.cookies.accepted.Add(1)
	c = s.newConn(p.reader, k)
	c.client, c.listener, c.acceptReserved = from, l, true
	c.cfg, c.tos = l.tcpConfig(p.reader.iface, p.src), l.tos&^ecnMarked
	c.initState(state)
	l.handshakes.Add(1) // endHandshake subtracts it again
	if !s.conns.add(c) {
		l.endHandshake()
		l.release(from)
		p.drop(DropBacklog)
		state.Release()
		return nil, true
	}
	return c, true
}

// finishHandshakeLocked processes a segment of a connection in its handshake. It reserves a place
// in the accept queue first. If none is free, it drops the segment, so that the SYN-ACK is
// retransmitted until there is room (as Linux). The caller holds mu.
func (c *Conn) finishHandshakeLocked(seg *tcp.Segment, now tcp.Time) {
	l := c.listener
	if !l.reserve(c.client) {
		if seg.Flags&wire.RST != 0 {
			c.tcp.Arrive(now, seg)
			return
		}
		c.s.drops.add(DropBacklog)
		return
	}
	c.tcp.Arrive(now, seg)
	if s := c.tcp.State(); s == tcp.SynReceived || s == tcp.Closed {
		l.release(c.client)
		return
	}
	c.acceptReserved = true
}

// clientAddr returns the address of the client that sent the packet; zero: this host.
func (p *packet) clientAddr() netip.Addr {
	if p.reader.iface.loopback {
		return netip.Addr{}
	}
	return clientOf(p.src)
}

// initState gives a new connection its TCP state. Nagle's algorithm is off, as in package net.
func (c *Conn) initState(state *tcp.Conn) {
	state.SetNoDelay(true)
	c.tcp = state
}

// cookieCounts has the counters of SYN cookies.
type cookieCounts struct {
	sent     atomic.Uint64 // SYNs answered with a cookie
	accepted atomic.Uint64 // connections opened by a returned cookie
}

// Cookies returns how many SYNs were answered with SYN cookies, because too many handshakes were
// under way, and how many connections were opened by them.
func (s *Stack) Cookies() (sent, accepted uint64) {
	return s.cookies.sent.Load(), s.cookies.accepted.Load()
}

// cookieHash returns the keyed hash for a connection's SYN cookies.
func (s *Stack) cookieHash(k tuple) tcp.CookieHash {
	var name [41]byte
	local, remote := k.local.Addr().As16(), k.remote.Addr().As16()
	copy(name[:], local[:])
	copy(name[16:], remote[:])
	binary.BigEndian.PutUint16(name[32:], k.local.Port())
	binary.BigEndian.PutUint16(name[34:], k.remote.Port())
	return func(kind byte, count uint32) uint32 {
		name[36], name[37], name[38], name[39], name[40] = 'c', kind, byte(count>>16), byte(count>>8), byte(count)
		return uint32(siphash(&s.secret, name[:]))
	}
}

// sendReset answers a segment that matches no connection (RFC 9293, section 3.10.7.1).
func (s *Stack) sendReset(k tuple, seg *tcp.Segment) {
	o := tcp.OutSegment{Flags: wire.RST}
	if seg.Flags&wire.ACK != 0 {
		o.Seq = seg.Ack
	} else {
		o.Flags |= wire.ACK
		o.Ack = seg.End()
	}
	s.sendStateless(k, &o)
}

// sendStateless sends a segment without payload that belongs to no connection.
func (s *Stack) sendStateless(k tuple, o *tcp.OutSegment) {
	var options [40]byte
	f := wire.TCPFields{Src: k.local, Dst: k.remote, Seq: o.Seq, Ack: o.Ack, Flags: o.Flags, Window: o.Window, Options: o.Options.Append(options[:0])}
	s.sendIP(outgoingPacket{foreign: true, dontFragment: true, protocol: wire.TCPProtocol, src: k.local.Addr(), dst: k.remote.Addr()}, wire.AppendTCP(nil, &f)) //nolint:errcheck // it is counted
}
