package host

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"weir/tcpip"
	"weir/tcpip/dhcp"
	"weir/tcpip/link"
)

// Config configures a host.
type Config struct {
	// the links, one or more. The host is known by the device and the first address of the first
	Links     []Link
	Namespace string // named network namespace of the devices; empty: the caller's
	// called for each change by DHCP, with the name of the link; nil: changes are not reported
	OnDHCP func(link string, e dhcp.Event)
	// the default routers, at most one for each version of IP on each link, whose networks they are
	// in. A link-local one has the name of its link as zone; without a zone it is on the first
	Gateways []netip.Addr
	Routes   []StaticRoute // further routes
	// DNS servers; none: only addresses can be dialed
	DNS    []netip.AddrPort
	Queues int       // queues of each device, each with a reader; default 1
	Plain  bool      // no superframes, and no checksum offload
	Run    tcpip.Run // concurrency model of the receive path; default tcpip.RunChain

	// probe for the addresses before using them: Start then takes 5 to 7 s for each link, and fails
	// if another host has one
	ProbeAddr bool
	// called by Run when another host uses an address; nil: conflicts are ignored. During a call,
	// only one more conflict is kept
	OnConflict func(tcpip.Conflict)

	// set the devices up on the kernel's side, and restore the previous state at Close
	Setup bool

	// a pcapng file to record every frame in; it must not exist. Empty: none
	Capture     string
	CaptureLink string // the only link to record; empty: all
	Services    []Service
	Control     string // the control socket's path; empty: none
}

// Link configures a link of a host: a device with addresses of its own. Packets for an address are
// accepted by its link only, and packets from it leave by that link only.
type Link struct {
	// the name of the device, of the link, and the zone of its link-local addresses: fe80::1%weir0
	Name   string
	Medium link.Medium // Ethernet: a TAP device; IP: a TUN device
	// the host's addresses on the link, with their prefix lengths. One or more, unless DHCP or
	// Autoconf is set
	Addrs []netip.Prefix
	// get an IPv4 address by DHCP, IPv6 addresses from routers, and DNS servers from both, while
	// Run runs. It needs Ethernet
	DHCP     bool
	Autoconf bool // get IPv6 addresses and DNS servers from routers; DHCP implies it
	// with either: prefer temporary IPv6 addresses for connections of the host (RFC 8981)
	Temporary bool
	MTU       int             // largest packet in bytes; 0: what the device has, or 1,500
	Metric    int             // added to the metric of the link's routes: the lowest is used first
	Impair    link.Impairment // impairments, in both directions

	// with Setup: the kernel's own addresses on the device; none: see KernelAddrs
	Peers  []netip.Prefix
	Bridge string // with Setup: an interface to join with the device by a bridge
}

// StaticRoute is a route of a host that its configuration has.
type StaticRoute struct {
	To   netip.Prefix
	Via  netip.Addr // the router, in a network of a link; zero: the hosts of To are on Link
	Link string     // without Via: the name of the link
}

// KernelAddrs returns the kernel's addresses on a device of Setup: Peers, or for each of Addrs the
// first other address in its network. There are none with a bridge, because its network has other
// hosts.
func (l *Link) KernelAddrs() (all []netip.Prefix) {
	if len(l.Peers) > 0 || l.Bridge != "" {
		return l.Peers
	}
	for _, a := range l.Addrs {
		if p := otherAddr(a); p.IsValid() {
			all = append(all, p)
		}
	}
	return all
}

// otherAddr returns the first address in the network of a that is not a, nor that of the network.
// It is zero if there is none.
func otherAddr(a netip.Prefix) netip.Prefix {
	other := a.Masked().Addr()
	if a.Addr().BitLen()-a.Bits() > 1 || other == a.Addr() {
		other = other.Next()
	}
	if other == a.Addr() {
		other = other.Next()
	}
	if !a.Contains(other) {
		return netip.Prefix{}
	}
	return netip.PrefixFrom(other, a.Bits())
}

// validate returns an error for an invalid config. The stack checks the addresses themselves.
func (c *Config) validate() error {
	if len(c.Links) == 0 {
		return errors.New("host: no link given: name a device, such as weir0, and give it an address")
	}
	names, addrs := map[string]bool{}, map[netip.Addr]bool{}
	for i := range c.Links {
		l := &c.Links[i]
		if err := l.validate(c.Setup); err != nil {
			return err
		}
		if names[l.Name] {
			return fmt.Errorf("host: the device %s is given twice: name another one", l.Name)
		}
		names[l.Name] = true
		for _, a := range l.Addrs {
			if addrs[a.Addr()] && !a.Addr().IsLinkLocalUnicast() {
				return fmt.Errorf("host: the address %v is given twice: use another one on %s", a.Addr(), l.Name)
			}
			addrs[a.Addr()] = true
		}
		for _, p := range l.Peers {
			if c.has(p.Addr()) {
				return fmt.Errorf("host: %v is both the kernel's address and the host's: use another one for the kernel", p.Addr())
			}
		}
	}
	if c.CaptureLink != "" && !names[c.CaptureLink] {
		return fmt.Errorf("host: there is no link %s to record: use one of the host's", c.CaptureLink)
	}
	return c.validateRoutes()
}

// validate returns an error for an invalid link.
func (l *Link) validate(setup bool) error {
	switch {
	case l.Name == "":
		return errors.New("host: no device given: name one, such as weir0")
	case l.Name == "lo":
		return errors.New("host: lo is the loopback of the host: name another device, such as weir0")
	case len(l.Addrs) == 0 && !l.DHCP && !l.Autoconf:
		return fmt.Errorf("host: no address given for %s: use one with its prefix length, such as 10.0.0.2/24", l.Name)
	case l.DHCP && l.Medium != link.Ethernet:
		return fmt.Errorf("host: DHCP needs an Ethernet device, and %s is a TUN device: give it an address", l.Name)
	case l.MTU != 0 && l.MTU < l.minMTU() || l.Metric < 0:
		return fmt.Errorf("host: %s has MTU %d and metric %d: make the MTU %d or more (IPv6 needs 1280), and the metric 0 or more", l.Name, l.MTU, l.Metric, l.minMTU())
	case !setup && (l.Bridge != "" || len(l.Peers) > 0):
		return errors.New("host: Bridge and Peers need Setup: set it too")
	case setup && l.Bridge == "" && len(l.Addrs) > 0 && len(l.KernelAddrs()) == 0:
		return fmt.Errorf("host: the network of %v has no free address for the kernel: use a larger network, or set Peers", l.Addrs[0])
	}
	return nil
}

// minMTU returns the least MTU of the link (RFC 791, section 3.2; RFC 8200, section 5).
func (l *Link) minMTU() int {
	if l.DHCP || l.Autoconf || slices.ContainsFunc(l.Addrs, func(a netip.Prefix) bool { return a.Addr().Is6() }) {
		return 1280
	}
	return 68
}

// validateRoutes returns an error for a router that is not a neighbour, or a link that is none.
func (c *Config) validateRoutes() error {
	for _, g := range c.Gateways {
		if !c.isNeighbour(g) {
			return fmt.Errorf("host: the gateway %v is not on a network of the host: use an address of one, or a link-local one with the name of its link, such as fe80::1%%%s", g, c.Links[0].Name)
		}
	}
	for _, r := range c.Routes {
		switch {
		case !r.Via.IsValid() && c.linkNamed(r.Link) < 0:
			return fmt.Errorf("host: the route to %v is by %s, which is not a link of the host: use a router or a link", r.To, r.Link)
		case r.Via.IsValid() && !c.isNeighbour(r.Via):
			return fmt.Errorf("host: the route to %v is by %v, which is not on a network of the host: use a router of one", r.To, r.Via)
		case r.Via.IsValid() && r.Via.Is4() != r.To.Addr().Is4():
			return fmt.Errorf("host: the route to %v is by %v: use a router with the same version of IP", r.To, r.Via)
		}
	}
	return nil
}

// isNeighbour reports whether an address is that of another host on a link. It need not exist.
func (c *Config) isNeighbour(a netip.Addr) bool {
	switch {
	case c.has(a):
		return false
	case a.IsLinkLocalUnicast() && a.Is6():
		return a.Zone() == "" || c.linkNamed(a.Zone()) >= 0
	}
	return slices.ContainsFunc(c.Links, func(l Link) bool {
		return slices.ContainsFunc(l.Addrs, func(own netip.Prefix) bool { return own.Contains(a) })
	})
}

// linkNamed returns the number of the link with a name; -1: there is none.
func (c *Config) linkNamed(name string) int {
	return slices.IndexFunc(c.Links, func(l Link) bool { return l.Name == name })
}

// has reports whether an address is the host's.
func (c *Config) has(a netip.Addr) bool {
	return slices.ContainsFunc(c.Links, func(l Link) bool {
		return slices.ContainsFunc(l.Addrs, func(own netip.Prefix) bool { return own.Addr() == a })
	})
}

// name describes the host by its first address.
func (c *Config) name() string {
	if len(c.Links[0].Addrs) == 0 {
		return "on " + c.Links[0].Name
	}
	return c.Links[0].Addrs[0].String()
}
