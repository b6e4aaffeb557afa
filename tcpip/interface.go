package tcpip

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"weir/tcpip/link"
	"weir/wire"
)

// Interface configures one of several links of a stack. Each address belongs to its link: packets
// for it are accepted by that link only, and packets from it leave by that link only. So a stack
// that answers remote clients on two links needs a default route by each: routes to the same
// network differ by their metric.
type Interface struct {
	// Name is the zone of the link's IPv6 link-local addresses, as in fe80::1%eth1, and names the
	// link in reports. It must differ from other names and from "lo". IPv6 addresses that the stack
	// makes itself depend on it (RFC 7217).
	Name string
	Link link.Link
	// Addrs, Autoconf and Temporary are those of Config, for this link. Without Addrs and Autoconf,
	// it has no address until AddAddrOn or DHCP (package dhcp) gives it one.
	Addrs     []netip.Prefix
	Autoconf  bool
	Temporary bool
	// MTU is the largest packet that is sent, in bytes; 0: that of the link, which also limits it.
	MTU int
	// Metric is added to the metric of each route by the link: of routes to the same network, the
	// one with the lowest metric is used. Default 0
	Metric int
}

// minMTU is the smallest MTU of a link (RFC 791, section 3.2). IPv6 needs wire.IPv6MinMTU.
const minMTU = 68

// interfaces returns the links that the configuration has, in order.
func (c *Config) interfaces() (all []Interface) {
	if c.Link != nil {
		all = append(all, Interface{Name: "link", Link: c.Link, Addrs: c.Addrs, Autoconf: c.Autoconf, Temporary: c.Temporary})
	}
	return append(all, c.Interfaces...)
}

// checkInterfaces returns an error for links that a stack cannot have.
func checkInterfaces(all []Interface) error {
	names := map[string]bool{"lo": true}
	addrs := map[netip.Addr]bool{}
	for _, i := range all {
		switch {
		case i.Name == "" || strings.ContainsAny(i.Name, "% ]") || names[i.Name]:
			return fmt.Errorf("tcpip: Interfaces has a link with the name %q: give each a name of its own, without %%, ] and spaces, that is not lo or that of Link, link", i.Name)
		case i.Link == nil:
			return fmt.Errorf("tcpip: the interface %s has no Link", i.Name)
		case i.MTU != 0 && i.MTU < wire.IPv6MinMTU && (i.Autoconf || slices.ContainsFunc(i.Addrs, func(p netip.Prefix) bool { return p.Addr().Is6() })):
			return fmt.Errorf("tcpip: the interface %s has MTU %d: IPv6 needs 1,280 bytes or more", i.Name, i.MTU)
		case i.MTU != 0 && i.MTU < minMTU || i.Metric < 0:
			return fmt.Errorf("tcpip: the interface %s has MTU %d and Metric %d: make the MTU 68 or more, or 0 for that of the link, and the metric 0 or more", i.Name, i.MTU, i.Metric)
		}
		names[i.Name] = true
		for _, a := range i.Addrs {
			if !usableAddr(a) {
				return fmt.Errorf("tcpip: Addrs has %v, which no host can have: write an address with the length of its network, such as 10.0.0.2/24", a)
			}
			if addrs[a.Addr()] && !a.Addr().IsLinkLocalUnicast() {
				return fmt.Errorf("tcpip: Addrs has %v twice", a)
			}
			addrs[a.Addr()] = true
		}
	}
	return nil
}
