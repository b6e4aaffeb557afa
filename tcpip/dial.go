package tcpip

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"time"
)

// Dialer says how to connect where Stack.DialContext is not told enough.
type Dialer struct {
	Stack *Stack
	// where connections come from; the stack chooses the address where that is invalid or
	// unspecified, and the port where it is 0
	LocalAddr netip.AddrPort
	// the octet of differentiated services of all that is sent, the SYN too: see Conn.SetTOS,
	// UDPConn.SetTOS. Default 0
	TOS uint8

	// KeepAlive and KeepAliveConfig say how a silent peer is probed, with the meanings of
	// net.Dialer: KeepAlive is how long the peer may be silent until the first probe, and below
	// zero turns probes off; it does not count where KeepAliveConfig.Enable is set. Default: as
	// Config.TCP says.
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
// has a resolver. Of a name with several addresses each is tried in turn, with its share of the
// time that the context leaves. A name stands for itself: the machine's list of domains to search
// in is not used.
func (s *Stack) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return (&Dialer{Stack: s}).DialContext(ctx, network, address)
}

// DialContext connects as Stack.DialContext does. Besides, its errors are EADDRNOTAVAIL where
// LocalAddr is not the stack's on the way there, and EADDRINUSE where that port has a connection to
// the same place already, or had one a moment ago.
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

// dialing connects to an address.
type dialing func(context.Context, netip.AddrPort) (net.Conn, error)

// dialEach tries addresses in turn, until one answers.
func dialEach(ctx context.Context, network string, dial dialing, remotes []netip.AddrPort) (net.Conn, error) {
	var first error // of several it says most
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

// dialOne tries an address, for its share of the time that is left for so many.
func dialOne(ctx context.Context, dial dialing, remote netip.AddrPort, left int) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, contextError(err)
	}
	if end, ok := ctx.Deadline(); ok && left > 1 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, max(time.Until(end)/time.Duration(left), leastShare))
		defer cancel()
	}
	return dial(ctx, remote)
}

// leastShare is the least time that an address is tried for: less would give up those that answer.
const leastShare = 2 * time.Second

func addrOf(network string, a netip.AddrPort) net.Addr {
	if network[0] == 'u' {
		return net.UDPAddrFromAddrPort(a)
	}
	return net.TCPAddrFromAddrPort(a)
}

func (d *Dialer) dialTCP(ctx context.Context, remote netip.AddrPort) (net.Conn, error) {
	c, err := d.Stack.open(d.LocalAddr, remote)
	if err == nil {
		d.probe(c)
		err = c.connect(ctx, d.TOS)
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// probe has the peer be probed as the dialer says, if it says anything.
func (d *Dialer) probe(c *Conn) {
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
	c.keepAlive(c.s.now(), config)
}

var errNoResolver = errors.New("it is a name, and the stack has no server to ask for it: give it one by Config.Resolver, or write an address")

// remoteAddrs reads an address, by asking for its name if it is one.
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
			a = netip.AddrFrom4([4]byte{127, 0, 0, 1}) // as without a host: this one
		}
		all = append(all, netip.AddrPortFrom(a.Unmap(), uint16(port)))
	}
	return all, err
}
