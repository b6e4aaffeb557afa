package tcpip

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"time"
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
// has a resolver. If a name has several addresses, each is tried in turn with an equal share of the
// remaining time. Names are fully qualified: the search list of resolv.conf is not used.
func (s *Stack) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return (&Dialer{Stack: s}).DialContext(ctx, network, address)
}

// DialContext connects as Stack.DialContext does. It returns EADDRNOTAVAIL if LocalAddr is not an
// address of the stack on the route. It returns EADDRINUSE if the port is already connected to the
// same remote address, or was a moment ago.
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	dial := d.dialUDP
	switch network {
	case "tcp", "tcp4":
		dial = d.dialTCP
	case "udp", "udp4":
	default:
		return nil, opError("dial", network, net.UnknownNetworkError(network))
	}
	remotes, err := d.Stack.remoteAddrs(ctx, network, address)
	if err != nil {
		return nil, opError("dial", network, err)
	}
	return dialEach(ctx, network, dial, remotes)
}

// dialFunc connects to one address.
type dialFunc func(context.Context, netip.AddrPort) (net.Conn, error)

// dialEach tries addresses in turn until one connects.
func dialEach(ctx context.Context, network string, dial dialFunc, remotes []netip.AddrPort) (net.Conn, error) {
	var first error // the error of the preferred address
	for i, remote := range remotes {
		c, err := dialOne(ctx, dial, remote, len(remotes)-i)
		if err == nil {
			return c, nil
		}
		err = &net.OpError{Op: "dial", Net: network, Addr: addrOf(network, remote), Err: err}
		if first == nil {
			first = err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, first
}

// dialOne tries an address for its share of the time that remains for it and the addresses behind
// it.
func dialOne(ctx context.Context, dial dialFunc, remote netip.AddrPort, left int) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, contextError(err)
	}
	if end, ok := ctx.Deadline(); ok && left > 1 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, max(time.Until(end)/time.Duration(left), minDialTime))
		defer cancel()
	}
	return dial(ctx, remote)
}

// minDialTime is the minimum time for one address: less would abandon slow but reachable ones.
const minDialTime = 2 * time.Second

func addrOf(network string, a netip.AddrPort) net.Addr {
	if network[0] == 'u' {
		return net.UDPAddrFromAddrPort(a)
	}
	return net.TCPAddrFromAddrPort(a)
}

func (d *Dialer) dialTCP(ctx context.Context, remote netip.AddrPort) (net.Conn, error) {
	c, err := d.Stack.openConn(d.LocalAddr, remote)
	if err == nil {
		d.applyKeepAlive(c)
		err = c.connect(ctx, d.TOS)
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// applyKeepAlive applies the dialer's keep-alive options, if there are any.
func (d *Dialer) applyKeepAlive(c *Conn) {
	config := d.KeepAliveConfig
	switch {
	case config.Enable:
	case d.KeepAlive == 0:
		return
	default:
		config = net.KeepAliveConfig{Enable: d.KeepAlive > 0, Idle: d.KeepAlive}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.setKeepAliveLocked(c.s.now(), config)
}

var errNoResolver = errors.New("the stack has no DNS server to resolve the name: set Config.Resolver, or use an address")

// remoteAddrs parses an address and resolves its name, if it has one.
func (s *Stack) remoteAddrs(ctx context.Context, network, address string) ([]netip.AddrPort, error) {
	host, service, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := net.DefaultResolver.LookupPort(ctx, network, service)
	if err != nil {
		return nil, err
	}
	if host == "" {
		return []netip.AddrPort{netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(port))}, nil
	}
	addrs := make([]netip.Addr, 1)
	if addrs[0], err = netip.ParseAddr(host); err != nil {
		addrs, err = s.lookup(ctx, host)
	}
	var all []netip.AddrPort
	for _, a := range addrs {
		if a.IsUnspecified() {
			a = netip.AddrFrom4([4]byte{127, 0, 0, 1}) // as with an empty host: the loopback
		}
		all = append(all, netip.AddrPortFrom(a.Unmap(), uint16(port)))
	}
	return all, err
}
