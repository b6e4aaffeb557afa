package tcpip

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"weir/tcpip/icmp"
	"weir/wire"
)

// sockets has the open UDP sockets, raw sockets and pings.
type sockets struct {
	// number of sockets in ip and eth: while 0, packets pass without taking the lock
	boundIP, boundEther atomic.Int32

	mu     sync.RWMutex
	closed bool
	// by local address, which may be unspecified, and port; connected sockets first
	udp   map[netip.AddrPort][]*UDPConn
	ip    map[wire.Protocol][]*PacketConn
	eth   map[wire.EtherType][]*PacketConn
	pings map[uint16]*pinger
}

func (s *sockets) init() {
	s.udp, s.ip = map[netip.AddrPort][]*UDPConn{}, map[wire.Protocol][]*PacketConn{}
	s.eth, s.pings = map[wire.EtherType][]*PacketConn{}, map[uint16]*pinger{}
}

func (s *sockets) closeAll() {
	s.mu.Lock()
	s.closed = true
	var all []interface{ Close() error }
	for _, us := range s.udp {
		for _, u := range us {
			all = append(all, u)
		}
	}
	for _, cs := range s.ip {
		for _, c := range cs {
			all = append(all, c)
		}
	}
	for _, cs := range s.eth {
		for _, c := range cs {
			all = append(all, c)
		}
	}
	for _, p := range s.pings {
		all = append(all, p)
	}
	s.mu.Unlock()
	for _, c := range all {
		c.Close() //nolint:errcheck // it is
	}
}

// UDPConn is a UDP socket: a net.PacketConn, and a net.Conn if it is connected (made by Dial).
type UDPConn struct {
	receiveQueue
	s             *Stack
	local, remote netip.AddrPort // remote is zero unless connected
	family        family         // of destinations
	link          *iface         // the only link that it receives and sends by; nil: any
	foreign       bool           // local is not an address of the stack: Stack.Forward made it
	dontFragment  atomic.Bool    // send with DF set
	// gets datagrams in place of the queue; nil: none was set
	receiver atomic.Pointer[func(payload []byte, from netip.AddrPort)]
	ttl, tos atomic.Uint32 // of sent datagrams; ttl 0: Config.TTL

	shared        bool // other shared sockets may have the same port: see ListenMulticastUDP
	multicast     multicastOptions
	membershipsMu sync.Mutex                   // no other lock but iface.mu is taken under it
	memberships   atomic.Pointer[[]membership] // nil: none. Replaced as a whole under membershipsMu
}

// SetDontFragment has datagrams sent with the DF flag. Write returns syscall.EMSGSIZE for a
// datagram larger than the known path MTU. After a Packet Too Big, the next call returns it. By
// default datagrams are fragmented where necessary.
func (u *UDPConn) SetDontFragment(yes bool) { u.dontFragment.Store(yes) }

// SetTTL sets the TTL of datagrams for hosts; 0: Config.TTL. See also SetMulticastTTL.
func (u *UDPConn) SetTTL(hops uint8) { u.ttl.Store(uint32(hops)) }

// SetTOS sets the TOS octet of datagrams: DSCP and ECN. Default 0.
func (u *UDPConn) SetTOS(octet uint8) { u.tos.Store(uint32(octet)) }

// udp gives a datagram to its socket.
func (p *packet) udp() layer {
	d, fault := wire.ParseUDP(p.payload)
	if fault != wire.OK || !p.checksumOK && !d.ChecksumOK(p.src, p.dst) {
		return p.drop(DropUDPHeader)
	}
	if p.broadcast && p.dst.IsMulticast() {
		if ops := p.reader.s.groupOps.Load(); ops != nil {
			return ops.deliver(p, d)
		}
		return p.drop(DropUDPPort)
	}
	s := p.reader.s
	local, remote := netip.AddrPortFrom(p.dst, d.DstPort()), netip.AddrPortFrom(p.src, d.SrcPort())
	u := s.sockets.udpFor(p.reader.iface, local, remote)
	switch {
	case u != nil && (!p.forwarded || u.remote.IsValid()):
	case p.forwarded:
		return p.forwardDatagram(datagram{remote, local.Addr(), slices.Clone(d.Payload())}, local)
	default:
		p.reader.iface.sendICMPError(p.ip, p.broadcast, icmp.PortUnreachable, 0)
		return p.drop(DropUDPPort)
	}
	p.deliverDatagram(u, d.Payload(), remote)
	return consumed
}

// deliverDatagram gives a datagram to a socket.
func (p *packet) deliverDatagram(u *UDPConn, payload []byte, from netip.AddrPort) {
	if f := u.receiver.Load(); f != nil {
		(*f)(payload, from)
		return
	}
	if !u.enqueue(datagram{from, p.dst, slices.Clone(payload)}) {
		p.drop(DropSocketFull)
	}
}

// OnReceive has f get each datagram that arrives from now on, in place of a queue for reads: f is
// called by a reader's goroutine, with bytes that are valid until it returns, and must not block.
// f may still be called when Close returns. OnReceive itself calls it with what has arrived before.
func (u *UDPConn) OnReceive(f func(payload []byte, from netip.AddrPort)) {
	u.receiver.Store(&f)
	for {
		d, _, ok, _ := u.tryRead()
		if !ok {
			return
		}
		f(d.payload, d.from)
	}
}

// udpBuffers holds buffers of datagrams that are being sent.
var udpBuffers = sync.Pool{New: func() any { return new([]byte) }}

// udpFor returns the socket for a datagram that arrived by an interface; nil: none. A connected
// socket precedes an unconnected one, a specific local address the unspecified one.
func (s *sockets) udpFor(by *iface, local, remote netip.AddrPort) *UDPConn {
	s.mu.RLock()
	defer s.mu.RUnlock()
	any4, any6 := netip.AddrPortFrom(netip.IPv4Unspecified(), local.Port()), netip.AddrPortFrom(netip.IPv6Unspecified(), local.Port())
	for _, a := range [...]netip.AddrPort{local, any4, any6} {
		for _, u := range s.udp[a] {
			if u.family.has(local.Addr()) && (!u.remote.IsValid() || u.remote == remote) && (u.link == nil || u.link == by) {
				return u
			}
		}
	}
	return nil
}

// receiveError has the next call of a connected socket return an ICMP error. An unconnected socket
// could not know which destination it concerns.
func (u *UDPConn) receiveError(err error) {
	if u.remote.IsValid() {
		u.setError(err)
	}
}

// addUDP adds a socket, at a free port if it has none.
func (s *sockets) addUDP(u *UDPConn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return net.ErrClosed
	}
	port, err := choosePort(u.s.random, u.local.Port(), func(port uint16) bool { return s.isFreeLocked(u, port) })
	if err != nil {
		return err
	}
	u.local = netip.AddrPortFrom(u.local.Addr(), port)
	at, first := s.udp[u.local], 0
	if !u.remote.IsValid() { // the last shared one gets unicast datagrams, as with Linux
		if first = slices.IndexFunc(at, func(v *UDPConn) bool { return !v.remote.IsValid() }); first < 0 {
			first = len(at)
		}
	}
	at = slices.Insert(at, first, u)
	s.udp[u.local] = at
	return nil
}

// isFreeLocked reports whether a socket may have a port. As with Linux, unconnected ones need an
// address that no other one has or includes, as 0.0.0.0 includes all of IPv4, unless both are
// shared. The caller holds mu.
func (s *sockets) isFreeLocked(u *UDPConn, port uint16) bool {
	at := netip.AddrPortFrom(u.local.Addr(), port)
	same := func(v *UDPConn) bool {
		return v.remote == u.remote && !(u.shared && v.shared) && v.family&u.family != 0 && (u.link == nil || v.link == nil || u.link == v.link)
	}
	if u.remote.IsValid() || !u.local.Addr().IsUnspecified() {
		any4, any6 := netip.AddrPortFrom(netip.IPv4Unspecified(), port), netip.AddrPortFrom(netip.IPv6Unspecified(), port)
		return !slices.ContainsFunc(s.udp[at], same) && (u.remote.IsValid() || !slices.ContainsFunc(slices.Concat(s.udp[any4], s.udp[any6]), same))
	}
	for local, us := range s.udp {
		if local.Port() == port && slices.ContainsFunc(us, same) {
			return false
		}
	}
	return true
}

func (s *sockets) removeUDP(u *UDPConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.DeleteFunc(s.udp[u.local], func(v *UDPConn) bool { return v == u })
	if len(at) == 0 {
		delete(s.udp, u.local)
		return
	}
	s.udp[u.local] = at
}

// ListenPacket opens a UDP socket at an address of the stack. As with package net, a group stands
// for all addresses, at a port that is shared: see ListenMulticastUDP. The socket does not join it.
func (s *Stack) ListenPacket(network, address string) (net.PacketConn, error) {
	u, err := s.listenUDP(nil, network, address)
	if err != nil {
		return nil, err
	}
	return u, nil
}

// listenUDP opens a UDP socket for one link, or for all if link is nil.
func (s *Stack) listenUDP(link *iface, network, address string) (*UDPConn, error) {
	local, err := s.localAddr("udp", network, address)
	u := &UDPConn{s: s, local: local, link: link}
	if u.family, _ = familyOf("udp", network); !local.Addr().IsUnspecified() || local.Addr().Is4() {
		u.family = familyFor(local.Addr())
	}
	if local.Addr().IsMulticast() {
		u.shared, u.local = true, netip.AddrPortFrom(u.family.unspecified(), local.Port())
	}
	u.readWaiter = newWaiter()
	if err == nil {
		err = s.sockets.addUDP(u)
	}
	if err != nil {
		return nil, listenError(network, local, err)
	}
	return u, nil
}

func (d *Dialer) dialUDP(_ context.Context, remote netip.AddrPort) (net.Conn, error) {
	s := d.Stack
	i, _, src, ok := s.routeTo(remote.Addr(), s.canonicalAddr(d.LocalAddr.Addr()))
	switch {
	case !ok:
		return nil, syscall.ENETUNREACH
	case remote.Port() == 0:
		return nil, syscall.EADDRNOTAVAIL
	}
	src, err := s.sourceAddr(d.LocalAddr.Addr(), i, src)
	if err != nil {
		return nil, err
	}
	u := &UDPConn{s: s, local: netip.AddrPortFrom(src, d.LocalAddr.Port()), remote: remote, family: familyFor(src)}
	u.SetTOS(d.TOS)
	u.readWaiter = newWaiter()
	if err := s.sockets.addUDP(u); err != nil {
		return nil, err
	}
	return u, nil
}

func (u *UDPConn) wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	e := &net.OpError{Op: op, Net: "udp", Source: u.LocalAddr(), Err: err}
	if u.remote.IsValid() {
		e.Addr = u.RemoteAddr()
	}
	return e
}

// writeError wraps the error of a datagram that was not sent.
func (u *UDPConn) writeError(to netip.AddrPort, err error) error {
	return &net.OpError{Op: "write", Net: "udp", Source: u.LocalAddr(), Addr: net.UDPAddrFromAddrPort(to), Err: err}
}

// ReadFrom implements net.PacketConn. A datagram longer than p is truncated.
func (u *UDPConn) ReadFrom(p []byte) (int, net.Addr, error) {
	d, err := u.read()
	if err != nil {
		return 0, nil, u.wrap("read", err)
	}
	return copy(p, d.payload), net.UDPAddrFromAddrPort(d.from), nil
}

// Read implements net.Conn.
func (u *UDPConn) Read(p []byte) (int, error) {
	d, err := u.read()
	if err != nil {
		return 0, u.wrap("read", err)
	}
	return copy(p, d.payload), nil
}

// ReadMsg is ReadFrom, and also returns the datagram's destination: an address of the stack, a
// broadcast address (RFC 1122, section 4.1.3.5) or a group.
func (u *UDPConn) ReadMsg(p []byte) (n int, from netip.AddrPort, to netip.Addr, err error) {
	d, err := u.read()
	if err != nil {
		return 0, from, to, u.wrap("read", err)
	}
	return copy(p, d.payload), d.from, d.to, nil
}

// WriteMsg is WriteTo with a given source address of the stack: an answer should come from the
// address that its question was sent to. A connected socket may send elsewhere by it, and remains
// connected.
func (u *UDPConn) WriteMsg(p []byte, to netip.AddrPort, from netip.Addr) (int, error) {
	switch bound := u.local.Addr(); {
	case !u.s.owns(from), from.Is4() != to.Addr().Is4(), !bound.IsUnspecified() && from != bound:
		return 0, u.writeError(to, syscall.EADDRNOTAVAIL)
	}
	return u.send(p, to, from)
}

// WriteTo implements net.PacketConn.
func (u *UDPConn) WriteTo(p []byte, to net.Addr) (int, error) {
	a, ok := to.(*net.UDPAddr)
	if !ok {
		return 0, &net.OpError{Op: "write", Net: "udp", Source: u.LocalAddr(), Addr: to, Err: syscall.EINVAL}
	}
	ap := netip.AddrPortFrom(u.canonicalDst(a.AddrPort().Addr()), a.AddrPort().Port())
	if u.remote.IsValid() {
		return 0, u.writeError(ap, net.ErrWriteToConnected)
	}
	return u.send(p, ap, u.local.Addr())
}

// Write implements net.Conn.
func (u *UDPConn) Write(p []byte) (int, error) {
	if !u.remote.IsValid() {
		return 0, u.wrap("write", syscall.EDESTADDRREQ)
	}
	return u.send(p, u.remote, u.local.Addr())
}

func (u *UDPConn) send(p []byte, to netip.AddrPort, src netip.Addr) (int, error) {
	err := u.takeError()
	switch {
	case err != nil:
	case to.Port() == 0 || !to.Addr().IsValid() || to.Addr().IsUnspecified():
		err = syscall.EINVAL
	case !u.family.has(to.Addr()):
		err = syscall.EAFNOSUPPORT
	case len(p) > maxPayload(to.Addr())-wire.UDPHeader:
		err = syscall.EMSGSIZE
	}
	if err != nil {
		return 0, u.writeError(to, err)
	}
	f := outgoingPacket{link: u.link, foreign: u.foreign, tos: uint8(u.tos.Load()), ttl: uint8(u.ttl.Load()), dontFragment: u.dontFragment.Load(), protocol: wire.UDPProtocol, src: src, dst: to.Addr()}
	if f.dst.IsMulticast() {
		u.multicast.apply(&f)
	}
	if src.IsUnspecified() {
		var ok bool
		if _, _, f.src, ok = u.s.routeBy(f.link, f.dst, src); !ok {
			return 0, u.writeError(to, syscall.ENETUNREACH)
		}
	}
	from := netip.AddrPortFrom(f.src, u.local.Port())
	b := udpBuffers.Get().(*[]byte)
	defer udpBuffers.Put(b)
	*b = append(wire.AppendUDP((*b)[:0], from, to, p), p...)
	if err := u.s.sendIP(f, *b); err != nil {
		return 0, u.writeError(to, err)
	}
	return len(p), nil
}

// Close implements net.Conn.
func (u *UDPConn) Close() error {
	if !u.close() {
		return u.wrap("close", net.ErrClosed)
	}
	u.s.sockets.removeUDP(u)
	if ops := u.s.groupOps.Load(); ops != nil {
		ops.leave(u)
	}
	return nil
}

// LocalAddr implements net.Conn.
func (u *UDPConn) LocalAddr() net.Addr { return net.UDPAddrFromAddrPort(u.local) }

// RemoteAddr implements net.Conn; nil if the socket is unconnected.
func (u *UDPConn) RemoteAddr() net.Addr {
	if !u.remote.IsValid() {
		return nil
	}
	return net.UDPAddrFromAddrPort(u.remote)
}

// SetDeadline implements net.Conn. Writes never block.
func (u *UDPConn) SetDeadline(t time.Time) error { return u.SetReadDeadline(t) }

// SetReadDeadline implements net.Conn.
func (u *UDPConn) SetReadDeadline(t time.Time) error {
	if err := u.setDeadline(t); err != nil {
		return &net.OpError{Op: "set", Net: "udp", Addr: u.LocalAddr(), Err: err}
	}
	return nil
}

// SetWriteDeadline implements net.Conn. Writes never block.
func (u *UDPConn) SetWriteDeadline(time.Time) error { return nil }
