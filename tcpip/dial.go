package tcpip

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"time"

	"weir/tcpip/tcp"
)

// Dialer has options for connecting beyond those of Stack.DialContext.
type Dialer struct {
	Stack *Stack
	// the local address of connections. The stack chooses the address if it is invalid or
	// unspecified, and the port if it is 0
	LocalAddr netip.AddrPort
	// TOS octet of everything sent, the SYN included: see Conn.SetTOS and UDPConn.SetTOS. Default 0
	TOS uint8

	// KeepAlive and KeepAliveConfig configure keep-alive probes, with the meanings of net.Dialer.
	// KeepAlive is the silence before the first probe; a negative value turns probes off. It is
	// ignored if KeepAliveConfig.Enable is set. Default: Config.TCP.
	KeepAlive       time.Duration
	KeepAliveConfig net.KeepAliveConfig

	// FastOpen uses TCP Fast Open (RFC 7413), as Linux's TCP_FASTOPEN_CONNECT. The first connection
	// to a server requests a cookie. Later, Dial returns at once, and the SYN carries what the
	// first Write writes; a Read before it sends the SYN alone. Then errors of the handshake are
	// those of Read and Write, and of several addresses the first one with a cookie is used. The
	// server may get the data of the SYN twice: see ListenConfig.FastOpen. When a server does not
	// answer such a SYN, connections to it are opened without for a minute, or longer.
	FastOpen bool

	// Configure changes the settings of a connection before its SYN is sent, such as the sizes of
	// its buffers, the congestion control, whether it probes for the path MTU, or the MSS, which is
	// at most that of the link. nil: they are those of Config.TCP.
	Configure func(*tcp.Config)
}

// Dial connects to a TCP or UDP address: see Stack.DialContext.
func (d *Dialer) Dial(network, address string) (net.Conn, error) {
	return d.DialContext(context.Background(), network, address)
}

// Dial connects to a TCP or UDP address: see DialContext.
func (s *Stack) Dial(network, address string) (net.Conn, error) {
	return s.DialContext(context.Background(), network, address)
}

// DialContext connects to a TCP or UDP address: "10.0.0.2:80", or "host.example:http" if the stack
// has a resolver. If a name has several addresses, they are tried by RFC 8305. Names are fully
// qualified: the search list of resolv.conf is not used.
func (s *Stack) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return (&Dialer{Stack: s}).DialContext(ctx, network, address)
}

// DialContext connects as Stack.DialContext does. It returns EADDRNOTAVAIL if LocalAddr is not an
// address of the stack on the route. It returns EADDRINUSE if the port is already connected to the
// same remote address, or was a moment ago.
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	dial := d.dialTCP
	families, known := familyOf("tcp", network)
	if !known {
		dial = d.dialUDP
		if families, known = familyOf("udp", network); !known {
			return nil, opError("dial", network, net.UnknownNetworkError(network))
		}
	}
	remotes, err := d.Stack.remoteAddrs(ctx, network, address, families)
	if err != nil {
		return nil, opError("dial", network, err)
	}
	return dialFastest(ctx, network, dial, remotes)
}

func addrOf(network string, a netip.AddrPort) net.Addr {
	if network[0] == 'u' {
		return net.UDPAddrFromAddrPort(a)
	}
	return net.TCPAddrFromAddrPort(a)
}

func (d *Dialer) dialTCP(ctx context.Context, remote netip.AddrPort) (net.Conn, error) {
	c, err := d.openConn(remote)
	if err == nil {
		err = c.connect(ctx, d.TOS)
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// portNames resolves names of ports, such as http, without a query.
var portNames = net.Resolver{PreferGo: true}

var errNoResolver = errors.New("the stack has no DNS server to resolve the name: set Config.Resolver, or use an address")

// remoteAddrs parses an address and resolves its name, if it has one.
func (s *Stack) remoteAddrs(ctx context.Context, network, address string, families family) ([]netip.AddrPort, error) {
	host, service, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := portNames.LookupPort(ctx, network, service)
	if err != nil {
		return nil, err
	}
	if host == "" {
		return []netip.AddrPort{netip.AddrPortFrom(families.loopback(), uint16(port))}, nil
	}
	addrs := make([]netip.Addr, 1)
	if addrs[0], err = netip.ParseAddr(host); err != nil {
		if addrs, err = s.lookup(ctx, host, families); err != nil {
			return nil, err
		}
	}
	var all []netip.AddrPort
	for _, a := range addrs {
		if a = s.canonicalAddr(a); a.IsUnspecified() {
			a = familyFor(a).loopback() // as with an empty host
		}
		if families.has(a) {
			all = append(all, netip.AddrPortFrom(a, uint16(port)))
		}
	}
	if len(all) == 0 {
		return nil, &net.AddrError{Err: "no suitable address found", Addr: host}
	}
	return all, nil
}
