package wgtun

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"time"

	"weir/tcpip"
	"weir/wire"
)

// PingAddr is the address of a ping socket.
type PingAddr struct{ addr netip.Addr }

// PingAddrFromAddr returns the PingAddr of an address.
func PingAddrFromAddr(addr netip.Addr) *PingAddr { return &PingAddr{addr.Unmap()} }

// Addr returns the address as a value.
func (a PingAddr) Addr() netip.Addr { return a.addr }

// String implements net.Addr.
func (a PingAddr) String() string { return a.addr.String() }

// Network implements net.Addr.
func (a PingAddr) Network() string {
	switch {
	case a.addr.Is4():
		return "ping4"
	case a.addr.Is6():
		return "ping6"
	}
	return "ping"
}

// PingConn is a ping socket: it writes ICMP echo requests and reads echo replies, both whole ICMP
// messages with their header. It sets the identifier and the checksum of requests, and receives
// replies with its identifier only. Any goroutine may call its methods.
type PingConn struct {
	raw          *tcpip.PacketConn
	id           uint16
	laddr, raddr PingAddr // raddr invalid: not connected
}

// DialPingAddr returns a ping socket for one host. An invalid raddr leaves it unconnected; laddr is
// an address of this host, or invalid.
func (n *Net) DialPingAddr(laddr, raddr netip.Addr) (*PingConn, error) {
	laddr, raddr = laddr.Unmap(), raddr.Unmap()
	if !laddr.IsValid() && !raddr.IsValid() {
		return nil, errors.New("wgtun: a ping socket without addresses: give it a local one, a remote one or both")
	}
	is6 := laddr.Is6() || raddr.Is6()
	switch {
	case laddr.IsValid() && raddr.IsValid() && laddr.Is6() != raddr.Is6():
		return nil, fmt.Errorf("wgtun: a ping socket from %v to %v: use addresses of one family", laddr, raddr)
	case !laddr.IsValid() && is6:
		laddr = netip.IPv6Unspecified()
	case !laddr.IsValid():
		laddr = netip.IPv4Unspecified()
	}
	protocol := wire.ICMPv4Protocol
	if is6 {
		protocol = wire.ICMPv6Protocol
	}
	raw, err := n.stack.ListenIP(protocol)
	if err != nil {
		return nil, err
	}
	return &PingConn{raw: raw, id: uint16(rand.Uint32()), laddr: PingAddr{laddr}, raddr: PingAddr{raddr}}, nil
}

// ListenPingAddr returns a ping socket that is not connected.
func (n *Net) ListenPingAddr(laddr netip.Addr) (*PingConn, error) {
	return n.DialPingAddr(laddr, netip.Addr{})
}

// DialPing is DialPingAddr with pointers, which may be nil.
func (n *Net) DialPing(laddr, raddr *PingAddr) (*PingConn, error) {
	return n.DialPingAddr(addrOf(laddr), addrOf(raddr))
}

// ListenPing is ListenPingAddr with a pointer.
func (n *Net) ListenPing(laddr *PingAddr) (*PingConn, error) { return n.DialPing(laddr, nil) }

func addrOf(a *PingAddr) netip.Addr {
	if a == nil {
		return netip.Addr{}
	}
	return a.addr
}

// dialPing connects to a host by name or address. network ends with 4 or 6, or takes both.
func (n *Net) dialPing(ctx context.Context, network, host string) (net.Conn, error) {
	addrs, err := n.LookupContextHost(ctx, host)
	if err != nil {
		return nil, err
	}
	for _, text := range addrs {
		a, err := netip.ParseAddr(text)
		if err != nil || network == "ping4" && !a.Unmap().Is4() || network == "ping6" && !a.Unmap().Is6() {
			continue
		}
		c, err := n.DialPingAddr(netip.Addr{}, a)
		if err != nil {
			return nil, err
		}
		return c, nil
	}
	return nil, &net.AddrError{Err: "no suitable address found", Addr: host}
}

// LocalAddr implements net.Conn and net.PacketConn.
func (c *PingConn) LocalAddr() net.Addr { return c.laddr }

// RemoteAddr implements net.Conn.
func (c *PingConn) RemoteAddr() net.Addr { return c.raddr }

// Close implements net.Conn.
func (c *PingConn) Close() error { return c.raw.Close() }

// Write implements net.Conn.
func (c *PingConn) Write(p []byte) (int, error) { return c.WriteTo(p, &c.raddr) }

// WriteTo implements net.PacketConn. The address is a *PingAddr or a *net.IPAddr.
func (c *PingConn) WriteTo(p []byte, to net.Addr) (int, error) {
	var dst netip.Addr
	switch a := to.(type) {
	case *PingAddr:
		dst = a.addr
	case *net.IPAddr:
		dst, _ = netip.AddrFromSlice(a.IP)
		dst = dst.Unmap()
	}
	if !dst.IsValid() || dst.Is6() != c.laddr.addr.Is6() {
		return 0, fmt.Errorf("wgtun: a ping to %v: use a *PingAddr or *net.IPAddr of the socket's family", to)
	}
	message, err := c.request(p)
	if err != nil {
		return 0, err
	}
	if _, err := c.raw.WriteTo(message, &net.IPAddr{IP: dst.AsSlice(), Zone: dst.Zone()}); err != nil {
		return 0, err
	}
	return len(p), nil
}

// request returns an echo request with the socket's identifier.
func (c *PingConn) request(p []byte) ([]byte, error) {
	echo := byte(wire.EchoRequest)
	if c.laddr.addr.Is6() {
		echo = byte(wire.EchoRequest6)
	}
	if len(p) < wire.ICMPHeader || p[0] != echo || p[1] != 0 {
		return nil, errors.New("wgtun: a ping socket sends whole ICMP echo requests only: write the header and the data")
	}
	seq := uint16(p[6])<<8 | uint16(p[7])
	// the stack completes the checksum of ICMPv6
	return wire.AppendICMP(nil, wire.ICMPType(echo), 0, wire.EchoHeader(c.id, seq), p[wire.ICMPHeader:]), nil
}

// Read implements net.Conn.
func (c *PingConn) Read(p []byte) (int, error) {
	n, _, err := c.ReadFrom(p)
	return n, err
}

// ReadFrom implements net.PacketConn: the address is a *PingAddr. A reply longer than p is
// truncated.
func (c *PingConn) ReadFrom(p []byte) (int, net.Addr, error) {
	reply := byte(wire.EchoReply)
	if c.laddr.addr.Is6() {
		reply = byte(wire.EchoReply6)
	}
	room := make([]byte, max(len(p), wire.ICMPHeader))
	for {
		n, from, err := c.raw.ReadFrom(room)
		if err != nil {
			return 0, nil, err
		}
		a, _ := netip.AddrFromSlice(from.(*net.IPAddr).IP)
		if n >= wire.ICMPHeader && room[0] == reply && wire.ICMP(room[:n]).EchoID() == c.id && (!c.raddr.addr.IsValid() || c.raddr.addr == a) {
			return copy(p, room[:n]), &PingAddr{a}, nil
		}
	}
}

// SetDeadline implements net.Conn. Writes never block.
func (c *PingConn) SetDeadline(t time.Time) error { return c.raw.SetDeadline(t) }

// SetReadDeadline implements net.Conn.
func (c *PingConn) SetReadDeadline(t time.Time) error { return c.raw.SetReadDeadline(t) }

// SetWriteDeadline implements net.Conn. Writes never block.
func (c *PingConn) SetWriteDeadline(t time.Time) error { return c.raw.SetWriteDeadline(t) }
