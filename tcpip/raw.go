package tcpip

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"weir/tcpip/link"
	"weir/wire"
)

// PacketConn is a raw socket: a net.PacketConn for one IP protocol or one EtherType. It receives a
// copy of every packet of that kind, beside the stack itself.
type PacketConn struct {
	receiveQueue
	s        *Stack
	protocol wire.Protocol
	ether    wire.EtherType // 0: the socket is for protocol
	ttl      atomic.Uint32  // of sent packets; 0: Config.TTL
}

// SetTTL sets the TTL, or hop limit, of packets; 0: Config.TTL.
func (c *PacketConn) SetTTL(hops uint8) { c.ttl.Store(uint32(hops)) }

// EtherAddr is a hardware address on a link as a net.Addr.
type EtherAddr struct {
	MAC  wire.MAC
	Link string // the link's name; "": the first one
}

// Network implements net.Addr.
func (EtherAddr) Network() string { return "ether" }

// String implements net.Addr.
func (a EtherAddr) String() string {
	if a.Link == "" {
		return a.MAC.String()
	}
	return a.MAC.String() + "%" + a.Link
}

// ListenIP opens a raw socket for an IP protocol. It reads and writes payloads without the IP
// header.
func (s *Stack) ListenIP(p wire.Protocol) (*PacketConn, error) {
	c := &PacketConn{s: s, protocol: p}
	return c, s.sockets.bind(c)
}

// ListenEther opens a raw socket for untagged frames of an EtherType on the stack's links. It reads
// and writes payloads without the Ethernet header.
func (s *Stack) ListenEther(t wire.EtherType) (*PacketConn, error) {
	if t < 0x600 {
		return nil, fmt.Errorf("tcpip: %#04x is a frame length, not an EtherType: use 0x0600 or more", uint16(t))
	}
	c := &PacketConn{s: s, ether: t}
	return c, s.sockets.bind(c)
}

func (s *sockets) bind(c *PacketConn) error {
	c.readWaiter = newWaiter()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return net.ErrClosed
	}
	if c.ether != 0 {
		s.eth[c.ether] = append(s.eth[c.ether], c)
		s.boundEther.Add(1)
	} else {
		s.ip[c.protocol] = append(s.ip[c.protocol], c)
		s.boundIP.Add(1)
	}
	return nil
}

func (s *sockets) unbind(c *PacketConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	other := func(d *PacketConn) bool { return d == c }
	if c.ether != 0 {
		s.eth[c.ether] = slices.DeleteFunc(s.eth[c.ether], other)
		s.boundEther.Add(-1)
	} else {
		s.ip[c.protocol] = slices.DeleteFunc(s.ip[c.protocol], other)
		s.boundIP.Add(-1)
	}
}

// deliverFrame gives a copy of a frame to the sockets of its EtherType.
func (s *sockets) deliverFrame(p *packet) {
	if s.boundEther.Load() == 0 || p.eth.Tag().VLANID() != 0 {
		return
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, c := range s.eth[p.eth.Type()] {
		src := p.eth.Src()
		var a [16]byte // 16 bytes: IP packets have addresses of 4
		copy(a[:], src[:])
		if !c.enqueue(datagram{from: netip.AddrPortFrom(netip.AddrFrom16(a).WithZone(p.reader.iface.name), 0), payload: slices.Clone(p.eth.Payload())}) {
			p.drop(DropSocketFull)
		}
	}
}

// deliverIP gives a copy of a packet to the sockets of its protocol.
func (s *sockets) deliverIP(p *packet) {
	if s.boundIP.Load() == 0 {
		return
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, c := range s.ip[p.protocol] {
		if !c.enqueue(datagram{from: netip.AddrPortFrom(p.src, 0), payload: slices.Clone(p.payload)}) {
			p.drop(DropSocketFull)
		}
	}
}

// hasProtocol reports whether a socket is open for a protocol.
func (s *sockets) hasProtocol(p wire.Protocol) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.ip[p]) > 0
}

// ReadFrom implements net.PacketConn: the address is a *net.IPAddr, or an EtherAddr.
func (c *PacketConn) ReadFrom(p []byte) (int, net.Addr, error) {
	d, err := c.read()
	if err != nil {
		return 0, nil, c.wrap("read", err)
	}
	if c.ether != 0 {
		a := d.from.Addr().As16()
		return copy(p, d.payload), EtherAddr{wire.MAC(a[:6]), d.from.Addr().Zone()}, nil
	}
	return copy(p, d.payload), &net.IPAddr{IP: d.from.Addr().AsSlice(), Zone: d.from.Addr().Zone()}, nil
}

// WriteTo implements net.PacketConn.
func (c *PacketConn) WriteTo(p []byte, to net.Addr) (int, error) {
	err := c.takeError()
	if err == nil {
		err = c.send(p, to)
	}
	if err != nil {
		return 0, c.wrap("write", err)
	}
	return len(p), nil
}

func (c *PacketConn) send(p []byte, to net.Addr) error {
	switch a := to.(type) {
	case EtherAddr:
		if c.ether == 0 {
			break
		}
		i, err := c.s.etherLink(a.Link)
		if err != nil {
			return err
		}
		l := i.readers[0]
		if len(p) > l.iface.caps.MTU {
			return syscall.EMSGSIZE
		}
		if !l.queue.Write(&link.Parts{Head: wire.AppendEthernet(make([]byte, 0, wire.EthernetHeader), a.MAC, l.iface.caps.MAC, c.ether), Body: [2][]byte{p}}) {
			c.s.drops.add(DropDevice)
		}
		return nil
	case *net.IPAddr:
		if dst, ok := netip.AddrFromSlice(a.IP); ok && c.ether == 0 {
			return c.sendPacket(p, c.s.canonicalAddr(dst.WithZone(a.Zone)))
		}
	}
	return fmt.Errorf("%v is not an address that this socket can send to: use a *net.IPAddr, or an EtherAddr for frames", to)
}

// etherLink returns the link with that name, or the first. Only Ethernet links have frames.
func (s *Stack) etherLink(name string) (*iface, error) {
	i := s.ifaces[0]
	if name != "" {
		if i = s.linkOf(netip.IPv6LinkLocalAllNodes().WithZone(name), 0); i == nil {
			return nil, fmt.Errorf("no link has the name %q", name)
		}
	}
	if i.frameHeader == 0 {
		return nil, fmt.Errorf("the link %s carries IP packets, not Ethernet frames", i.name)
	}
	return i, nil
}

// sendPacket sends a packet. The checksum of ICMPv6 is completed (RFC 3542, section 3.1).
func (c *PacketConn) sendPacket(p []byte, dst netip.Addr) error {
	f := outgoingPacket{protocol: c.protocol, dst: dst, ttl: uint8(c.ttl.Load())}
	if c.protocol == wire.ICMPv6Protocol && dst.Is6() && len(p) >= wire.ICMPHeader {
		_, _, src, ok := c.s.routeTo(dst, netip.Addr{})
		if !ok {
			return syscall.ENETUNREACH
		}
		m := wire.ICMPv6(p)
		f.src, p = src, wire.AppendICMPv6(nil, src, dst, m.Type(), m.Code(), m.RestOfHeader(), m[8:])
	}
	return c.s.sendIP(f, p)
}

func (c *PacketConn) wrap(op string, err error) error {
	network := "ip"
	if c.ether != 0 {
		network = "ether"
	}
	return opError(op, network, err)
}

// Close implements net.PacketConn.
func (c *PacketConn) Close() error {
	if !c.close() {
		return c.wrap("close", net.ErrClosed)
	}
	c.s.sockets.unbind(c)
	return nil
}

// LocalAddr implements net.PacketConn.
func (c *PacketConn) LocalAddr() net.Addr {
	if c.ether != 0 {
		return EtherAddr{c.s.ifaces[0].caps.MAC, c.s.ifaces[0].name}
	}
	for _, p := range c.s.Addrs() {
		return &net.IPAddr{IP: p.Addr().AsSlice()}
	}
	return &net.IPAddr{}
}

// SetDeadline implements net.PacketConn. Writes never block.
func (c *PacketConn) SetDeadline(t time.Time) error { return c.setDeadline(t) }

// SetReadDeadline implements net.PacketConn.
func (c *PacketConn) SetReadDeadline(t time.Time) error { return c.setDeadline(t) }

// SetWriteDeadline implements net.PacketConn. Writes never block.
func (c *PacketConn) SetWriteDeadline(time.Time) error { return nil }
