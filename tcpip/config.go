package tcpip

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"weir/tcpip/ip"
	"weir/tcpip/link"
	"weir/tcpip/neigh"
	"weir/tcpip/tcp"
)

// Config says what a stack is. The zero value of a field gives its default. It is not changed after
// New has it.
type Config struct {
	Link link.Link // the way to others; nil: the stack has nobody but itself
	// the stack's addresses on it, each with the length of its network: 10.0.0.2/24
	Addrs []netip.Prefix
	// beside those to the networks of Addrs; a default route is one to 0.0.0.0/0
	Routes []ip.Route
	// MSS and Superframe are the link's. Keep-alive is the net package's: on (15 s, 15 s, 9) unless
	// KeepIdle is below zero
	TCP tcp.Config
	Run Run // how packets are carried up. Default RunChain

	Reassembly ip.Limits // of fragments
	// bytes that the buffers of all connections may hold, with the output of sessions that waits
	// for room in them. Default 256 MiB
	Memory int
	// ask, before they are used, whether somebody has the addresses (RFC 5227): New takes 5 to 7 s
	// then, and fails if somebody has
	Probe bool
	// what becomes of an address that somebody else uses too. Default: it is kept, and others are
	// told so
	Conflicts neigh.Policy
	// is told; nil: nobody is. It is called by a goroutine that carries packets, and must not wait
	OnConflict func(Conflict)
	TTL        uint8 // how many hops packets may go. Default 64
	// servers of the domain name system, in the order in which they are asked; port 0 is 53. None:
	// Dial takes addresses only
	Resolver []netip.AddrPort
	// ICMP errors a second, ten times as many at once; to one address a tenth of both, or 10 at
	// once. Default 100
	ErrorRate int
	// connections of one address that wait to be accepted, for each listener; of all, and being
	// opened, twice as many. Default 1,024
	Backlog int
	// connections in TIME-WAIT, of some 120 bytes each; of more, the oldest are forgotten. Default
	// 131,072
	Waiting int

	// Connections is how many there may be at once, but for those in TIME-WAIT. Each takes some 2
	// KB beside its buffers, and costs who opens it two segments: without a bound, who opens ever
	// more of them and says nothing takes all of the machine's memory. SYNs of others are dropped
	// then. Default 262,144. One address may open at most as many as it leaves free, so that it
	// does not keep others out; this host's own addresses may open all.
	Connections int
}

func (c Config) withDefaults() (Config, error) {
	setDefault(&c.Memory, 256<<20)
	setDefault(&c.ErrorRate, 100)
	setDefault(&c.TTL, 64)
	setDefault(&c.Backlog, 1024)
	setDefault(&c.Waiting, 1<<17)
	setDefault(&c.Connections, 1<<18)
	setDefault(&c.Run, RunChain)
	if c.Run != RunChain && c.Run != RunNetwork {
		return c, fmt.Errorf("tcpip: Run is %q: choose %s or %s", c.Run, RunChain, RunNetwork)
	}
	if err := c.numbers(); err != nil {
		return c, err
	}
	if c.Link != nil && len(c.Addrs) == 0 {
		return c, errors.New("tcpip: Addrs is empty: give the stack an address with the length of its network, such as 10.0.0.2/24")
	}
	for i, a := range c.Addrs {
		if !possible(a) {
			return c, fmt.Errorf("tcpip: Addrs has %v, which no host can have: write an IPv4 address with the length of its network, such as 10.0.0.2/24", a)
		}
		if slices.ContainsFunc(c.Addrs[:i], func(b netip.Prefix) bool { return a.Addr() == b.Addr() }) {
			return c, fmt.Errorf("tcpip: Addrs has %v twice", a)
		}
	}
	c.Resolver = slices.Clone(c.Resolver)
	for i, r := range c.Resolver {
		if !r.Addr().Is4() || r.Addr().IsUnspecified() || r.Addr().IsMulticast() {
			return c, fmt.Errorf("tcpip: Resolver has %v, which is no server's address: write an IPv4 address with a port, such as 10.0.0.1:53", r)
		}
		if r.Port() == 0 {
			c.Resolver[i] = netip.AddrPortFrom(r.Addr(), 53)
		}
	}
	return c, nil
}

// numbers says which of those that count something is below zero.
func (c *Config) numbers() error {
	for _, n := range []struct {
		name  string
		value int
	}{{"Memory", c.Memory}, {"ErrorRate", c.ErrorRate}, {"Backlog", c.Backlog}, {"Waiting", c.Waiting}, {"Connections", c.Connections}} {
		if n.value < 0 {
			return fmt.Errorf("tcpip: %s is %d: make it 1 or more, or 0 for the default", n.name, n.value)
		}
	}
	return nil
}

// possible says whether a host can have an address: none of a group, of the loopback, of all hosts
// in its network, or of the network.
func possible(p netip.Prefix) bool {
	if !p.IsValid() || !p.Addr().Is4() {
		return false
	}
	w := word(p.Addr())
	host := w & (allHosts >> p.Bits())
	return w>>24 != 0 && w>>24 != 127 && w>>24 < 224 && (p.Bits() >= 31 || host != 0 && host != allHosts>>p.Bits())
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
