package wgtun

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strconv"

	"weir/tcpip"
)

// Net is the network behind a device. Any goroutine may call its methods.
type Net struct{ stack *tcpip.Stack }

// Stack returns the stack, for all that it has beyond the methods of Net. The device closes it.
func (n *Net) Stack() *tcpip.Stack { return n.stack }

// Dial connects to a TCP or UDP address, or to "ping" addresses: see DialContext.
func (n *Net) Dial(network, address string) (net.Conn, error) {
	return n.DialContext(context.Background(), network, address)
}

// DialContext connects to an address. network is "tcp", "udp" or "ping", each also with 4 or 6.
func (n *Net) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	switch network {
	case "ping", "ping4", "ping6":
		return n.dialPing(ctx, network, address)
	}
	return n.stack.DialContext(ctx, network, address)
}

// DialContextTCPAddrPort connects to a TCP address.
func (n *Net) DialContextTCPAddrPort(ctx context.Context, addr netip.AddrPort) (*tcpip.Conn, error) {
	c, err := n.stack.DialContext(ctx, "tcp", addr.String())
	if err != nil {
		return nil, err
	}
	return c.(*tcpip.Conn), nil
}

// DialContextTCP connects to a TCP address; nil is an error.
func (n *Net) DialContextTCP(ctx context.Context, addr *net.TCPAddr) (*tcpip.Conn, error) {
	return n.DialContextTCPAddrPort(ctx, tcpAddrPort(addr))
}

// DialTCPAddrPort connects to a TCP address.
func (n *Net) DialTCPAddrPort(addr netip.AddrPort) (*tcpip.Conn, error) {
	return n.DialContextTCPAddrPort(context.Background(), addr)
}

// DialTCP connects to a TCP address; nil is an error.
func (n *Net) DialTCP(addr *net.TCPAddr) (*tcpip.Conn, error) {
	return n.DialContextTCP(context.Background(), addr)
}

// ListenTCPAddrPort listens at a TCP address. Without an address, it listens at all of this host;
// port 0 is any free one.
func (n *Net) ListenTCPAddrPort(addr netip.AddrPort) (*tcpip.Listener, error) {
	l, err := n.stack.Listen("tcp", local(addr))
	if err != nil {
		return nil, err
	}
	return l.(*tcpip.Listener), nil
}

// ListenTCP listens at a TCP address; nil is any port of all addresses.
func (n *Net) ListenTCP(addr *net.TCPAddr) (*tcpip.Listener, error) {
	return n.ListenTCPAddrPort(tcpAddrPort(addr))
}

// DialUDPAddrPort returns a UDP socket. An invalid raddr is that of no one: the socket is not
// connected. An invalid laddr is any port.
func (n *Net) DialUDPAddrPort(laddr, raddr netip.AddrPort) (*tcpip.UDPConn, error) {
	if !raddr.IsValid() {
		c, err := n.stack.ListenPacket("udp", local(laddr))
		if err != nil {
			return nil, err
		}
		return c.(*tcpip.UDPConn), nil
	}
	c, err := (&tcpip.Dialer{Stack: n.stack, LocalAddr: laddr}).Dial("udp", raddr.String())
	if err != nil {
		return nil, err
	}
	return c.(*tcpip.UDPConn), nil
}

// ListenUDPAddrPort returns a UDP socket that is not connected.
func (n *Net) ListenUDPAddrPort(laddr netip.AddrPort) (*tcpip.UDPConn, error) {
	return n.DialUDPAddrPort(laddr, netip.AddrPort{})
}

// DialUDP is DialUDPAddrPort with pointers, which may be nil.
func (n *Net) DialUDP(laddr, raddr *net.UDPAddr) (*tcpip.UDPConn, error) {
	return n.DialUDPAddrPort(udpAddrPort(laddr), udpAddrPort(raddr))
}

// ListenUDP is ListenUDPAddrPort with a pointer, which may be nil.
func (n *Net) ListenUDP(laddr *net.UDPAddr) (*tcpip.UDPConn, error) { return n.DialUDP(laddr, nil) }

// LookupHost returns the addresses of a name.
func (n *Net) LookupHost(host string) ([]string, error) {
	return n.LookupContextHost(context.Background(), host)
}

var errNoServer = errors.New("wgtun: the device has no name server: give CreateNetTUN one, or use addresses")

// LookupContextHost returns the addresses of a name, or the address if host is one.
func (n *Net) LookupContextHost(ctx context.Context, host string) ([]string, error) {
	if _, err := netip.ParseAddr(host); err == nil {
		return []string{host}, nil
	}
	r := n.stack.Resolver()
	if r == nil {
		return nil, &net.DNSError{Err: errNoServer.Error(), Name: host}
	}
	return r.LookupHost(ctx, host)
}

// local returns the text of a local address, for Listen.
func local(a netip.AddrPort) string {
	if !a.Addr().IsValid() {
		return ":" + strconv.Itoa(int(a.Port()))
	}
	return a.String()
}

// tcpAddrPort returns an address as a value; nil is invalid.
func tcpAddrPort(a *net.TCPAddr) netip.AddrPort {
	if a == nil {
		return netip.AddrPort{}
	}
	return unmapped(a.AddrPort())
}

// udpAddrPort returns an address as a value; nil is invalid.
func udpAddrPort(a *net.UDPAddr) netip.AddrPort {
	if a == nil {
		return netip.AddrPort{}
	}
	return unmapped(a.AddrPort())
}

func unmapped(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }
