package tcpip

import (
	"context"
	"fmt"
	"net/netip"
	"runtime/debug"
	"slices"

	"weir/tcpip/ip"
	"weir/tcpip/link"
	"weir/tcpip/ndp"
	"weir/tcpip/neigh"
	"weir/tcpip/tcp"
)

// Config configures a stack. The zero value of a field means its default. It must not be changed
// after New.
type Config struct {
	// Link is the link to other hosts, named "link". With Addrs and Autoconf, it is short for the
	// first of Interfaces. Without any link, the stack has only its loopback.
	Link link.Link
	// Interfaces are further links, each with a name and addresses of its own: see Interface.
	Interfaces []Interface
	// the stack's addresses on Link, each with its prefix length: 10.0.0.2/24, 2001:db8::2/64. With
	// an IPv6 address, the stack also gets a link-local one. None: AddAddr or DHCP (package dhcp)
	// gives it one later
	Addrs []netip.Prefix
	// get IPv6 addresses, routes, the MTU and, without Resolver, DNS servers from the routers on
	// the link too (RFC 4862, RFC 8106)
	Autoconf bool
	// do not follow redirects of IPv6 routers (RFC 4861, section 8). Without Autoconf, and while
	// the stack forwards, none is followed
	IgnoreRedirects bool
	// make temporary addresses too (RFC 8981), and prefer them for connections that the stack
	// opens. Default off, as in Linux: a connection ends with the valid lifetime of its address,
	// and peers may know a server by its address. A client that they should not recognize sets it
	Temporary bool
	// lifetimes of temporary addresses on all links. Default a day, and two
	TempLifetimes ndp.TempLifetimes
	// secret of the addresses of Autoconf (RFC 7217): with the same one, a network gives the same
	// address again. Default: derived from the link's hardware address
	AddrKey []byte
	// routes beside those to the networks of Addrs; a default route is one to 0.0.0.0/0 or ::/0
	Routes []ip.Route
	// settings of every connection. MSS and Superframe are derived from the link. Keep-alive
	// defaults to that of package net (15 s, 15 s, 9); a negative KeepAliveIdle turns it off
	TCP tcp.Config
	Run Run // how received packets pass through the layers. Default RunChain

	Reassembly ip.Limits // limits of fragment reassembly
	// limit of all connections' buffers together, and of session output that waits for them, in
	// bytes. The last eighth is for clients with few connections. Default 256 MiB, but at most a
	// quarter of the program's memory limit (GOMEMLIMIT)
	Memory int
	// probe for the addresses before using them (RFC 5227, RFC 4862): New then takes 5 to 7 s, or 1
	// to 2 with IPv6 addresses only, and fails if another host uses one. Otherwise they are used at
	// once, and IPv6 addresses are probed meanwhile (RFC 4429)
	ProbeAddrs bool
	// what happens to an address that another host uses too. Default: the stack keeps and defends
	// it
	ConflictPolicy neigh.Policy
	// called for each address conflict; nil: conflicts are only counted. A reader's goroutine calls
	// it: it must not block
	OnConflict func(Conflict)
	TTL        uint8 // initial TTL, or hop limit, of packets. Default 64
	// DNS servers in order of preference; port 0 means 53. Empty: Dial accepts addresses only
	Resolver []netip.AddrPort
	// Lookup returns the addresses of a name, in the order in which to use them; ctx is that of the
	// Dial. Its goroutine calls it. nil: the DNS servers are asked
	Lookup func(ctx context.Context, name string) ([]netip.Addr, error)
	// limit of ICMP errors sent a second, with bursts of ten times as many. One destination may
	// have a tenth of both, and bursts of at least 10. Default 100
	ErrorRate int
	// limit of one client's connections that wait for Accept, for each listener. All clients
	// together, handshakes included, may have twice as many. Default 1,024
	Backlog int
	// limit of connections in TIME-WAIT, about 190 bytes each. At the limit, the oldest are
	// evicted. Default 131,072
	MaxTimeWait int

	// Connections limits the connections that are not in TIME-WAIT. Each takes about 2 KB beside
	// its buffers and costs a client two segments: without a limit, idle connections could exhaust
	// the memory. At the limit, SYNs are dropped. One client may open at most as many connections
	// as are left free for others; addresses of this host may open all. Default 262,144.
	Connections int
}

func (c Config) withDefaults() (Config, error) {
	setDefault(&c.Memory, int(min(256<<20, debug.SetMemoryLimit(-1)/4)))
	setDefault(&c.ErrorRate, 100)
	setDefault(&c.TTL, 64)
	setDefault(&c.Backlog, 1024)
	setDefault(&c.MaxTimeWait, 1<<17)
	setDefault(&c.Connections, 1<<18)
	setDefault(&c.Run, RunChain)
	if c.Run != RunChain && c.Run != RunNetwork {
		return c, fmt.Errorf("tcpip: Run is %q: choose %s or %s", c.Run, RunChain, RunNetwork)
	}
	if err := c.checkNumbers(); err != nil {
		return c, err
	}
	err := checkInterfaces(c.interfaces())
	if err != nil {
		return c, err
	}
	if c.TempLifetimes, err = c.TempLifetimes.WithDefaults(); err != nil {
		return c, fmt.Errorf("tcpip: TempLifetimes: %w", err)
	}
	c.Resolver, err = checkResolver(c.Resolver)
	return c, err
}

// checkResolver returns the DNS servers with their ports.
func checkResolver(servers []netip.AddrPort) ([]netip.AddrPort, error) {
	servers = slices.Clone(servers)
	for i, r := range servers {
		if !r.Addr().IsValid() || r.Addr().IsUnspecified() || r.Addr().IsMulticast() {
			return nil, fmt.Errorf("tcpip: Resolver has %v, which is no server's address: write an address with a port, such as 10.0.0.1:53", r)
		}
		if r.Port() == 0 {
			servers[i] = netip.AddrPortFrom(r.Addr(), 53)
		}
	}
	return servers, nil
}

// checkNumbers returns an error for a negative number.
func (c *Config) checkNumbers() error {
	for _, n := range []struct {
		name  string
		value int
	}{{"Memory", c.Memory}, {"ErrorRate", c.ErrorRate}, {"Backlog", c.Backlog}, {"MaxTimeWait", c.MaxTimeWait}, {"Connections", c.Connections}} {
		if n.value < 0 {
			return fmt.Errorf("tcpip: %s is %d: make it 1 or more, or 0 for the default", n.name, n.value)
		}
	}
	return nil
}

// usableAddr reports whether a host can have the address p: it is not zero, loopback, multicast,
// the address of its network or, of IPv4, the broadcast address in it.
func usableAddr(p netip.Prefix) bool {
	switch a := p.Addr(); {
	case !p.IsValid() || a.Is4In6():
		return false
	case a.Is6():
		return !a.IsUnspecified() && !a.IsLoopback() && !a.IsMulticast() && (p.Bits() >= 127 || a != p.Masked().Addr())
	}
	w := addrToUint32(p.Addr())
	host := w & (allOnes >> p.Bits())
	return w>>24 != 0 && w>>24 != 127 && w>>24 < 224 && (p.Bits() >= 31 || host != 0 && host != allOnes>>p.Bits())
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
