package tcpip

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"time"

	"weir/tcpip/link"
	"weir/wire"
)

// PacketConn is bound to a protocol of IP, or to a type of Ethernet frames: a net.PacketConn. It
// gets a copy of every packet of that kind, beside whoever else takes it.
type PacketConn struct {
	inbox
	s        *Stack
	protocol wire.Protocol
	ether    wire.EtherType // 0: it is bound to protocol
}

// EtherAddr is a hardware address as a net.Addr.
type EtherAddr struct{ MAC wire.MAC }

// Network implements net.Addr.
func (EtherAddr) Network() string { return "ether" }

// String implements net.Addr.
func (a EtherAddr) String() string { return a.MAC.String() }

// ListenIP takes packets of a protocol of IP. What is read and written is what the IP header
// carries.
func (s *Stack) ListenIP(p wire.Protocol) (*PacketConn, error) {
	c := &PacketConn{s: s, protocol: p}
	return c, s.sockets.bind(c)
}

// ListenEther takes frames of a type, without a tag, that come by the stack's link. What is read
// and written is what the Ethernet header carries.
func (s *Stack) ListenEther(t wire.EtherType) (*PacketConn, error) {
	if t < 0x600 {
		return nil, fmt.Errorf("tcpip: %#04x is no type of a frame but a length: types begin at 0x0600", uint16(t))
	}
	c := &PacketConn{s: s, ether: t}
	return c, s.sockets.bind(c)
}

func (s *sockets) bind(c *PacketConn) error {
	c.reader = newWaiter()
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

// ether gives a frame to those who are bound to its type.
func (s *sockets) ether(p *packet) {
	if s.boundEther.Load() == 0 || p.eth.Tag().Network() != 0 {
		return
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, c := range s.eth[p.eth.Type()] {
		src := p.eth.Src()
		var a [16]byte // a hardware address, told apart from all of IP's by its length
		copy(a[:], src[:])
		if !c.put(datagram{from: netip.AddrPortFrom(netip.AddrFrom16(a), 0), payload: slices.Clone(p.eth.Payload())}) {
			p.drop(DropSocketFull)
		}
	}
}

// raw gives a packet to those who are bound to its protocol.
func (s *sockets) raw(p *packet) {
	if s.boundIP.Load() == 0 {
		return
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, c := range s.ip[p.ip.Protocol()] {
		if !c.put(datagram{from: netip.AddrPortFrom(p.ip.Src(), 0), payload: slices.Clone(p.ip.Payload())}) {
			p.drop(DropSocketFull)
		}
	}
}

// bound says whether somebody takes a protocol.
func (s *sockets) bound(p wire.Protocol) bool {
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
		return copy(p, d.payload), EtherAddr{wire.MAC(a[:6])}, nil
	}
	return copy(p, d.payload), &net.IPAddr{IP: d.from.Addr().AsSlice()}, nil
}

// WriteTo implements net.PacketConn.
func (c *PacketConn) WriteTo(p []byte, to net.Addr) (int, error) {
	err := c.failure()
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
		l := c.s.ifaces[0].lanes[0]
		if len(p) > l.iface.caps.MTU {
			return syscall.EMSGSIZE
		}
		if !l.q.Write(&link.Parts{Head: wire.AppendEthernet(make([]byte, 0, wire.EthernetHeader), a.MAC, l.iface.caps.MAC, c.ether), Body: [2][]byte{p}}) {
			c.s.drops.add(DropDevice)
		}
		return nil
	case *net.IPAddr:
		if dst, ok := netip.AddrFromSlice(a.IP.To4()); ok && c.ether == 0 {
			return c.s.sendIP(wire.IPv4Fields{Protocol: c.protocol, Dst: dst}, p)
		}
	}
	return fmt.Errorf("%v is no address that this socket can send to", to)
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
		return EtherAddr{c.s.ifaces[0].caps.MAC}
	}
	return &net.IPAddr{IP: c.s.ifaces[0].addrs[0].Addr().AsSlice()}
}

// SetDeadline implements net.PacketConn. Writes never wait.
func (c *PacketConn) SetDeadline(t time.Time) error { return c.setDeadline(t) }

// SetReadDeadline implements net.PacketConn.
func (c *PacketConn) SetReadDeadline(t time.Time) error { return c.setDeadline(t) }

// SetWriteDeadline implements net.PacketConn. Writes never wait.
func (c *PacketConn) SetWriteDeadline(time.Time) error { return nil }
