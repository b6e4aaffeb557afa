package dhcp

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"weir/tcpip/ip"
)

// Lease is an address that a server has leased, with the configuration of its network.
type Lease struct {
	Addr   netip.Prefix
	Server netip.Addr // that has leased it
	// Routes are those of option 121, or else the default route by the first router of option 3
	// (RFC 3442).
	Routes []ip.Route
	DNS    []netip.Addr // DNS servers, the best first
	Domain string       // domain of the host; empty: not given
	Search []string     // domains to search names in (RFC 3397)
	MTU    int          // of the link, in bytes; 0: not given

	// when the lease began, and when the client asks its server (T1), or any server (T2), to renew
	// it. ExpiresAt is its end; zero: it has none
	ObtainedAt, RenewAt, RebindAt, ExpiresAt time.Time
}

// Limits of what a lease may hold.
const (
	maxServers = 8
	maxRoutes  = 64
	maxDomains = 16
	// minLease is the shortest lease that is accepted, and minRenewal the shortest time from an
	// acknowledgment to the next request: a server could otherwise keep the client busy.
	minLease   = 20 * time.Second
	minRenewal = minLease / 2
	// infinite is the lease time of a lease without an end (RFC 2131, section 3.3).
	infinite = 0xffffffff * time.Second
	// minMTU is the smallest MTU that is accepted (RFC 2132, section 5.1, allows 68; hosts must
	// accept 576 bytes).
	minMTU = 576
)

// Errors of leases that no host can use.
var (
	errNoServer = errors.New("dhcp: the lease has no usable server identifier")
	errAddr     = errors.New("dhcp: no host can have the address of the lease")
	errMask     = errors.New("dhcp: the lease has an invalid subnet mask")
	errShort    = errors.New("dhcp: the lease is too short, or its time is missing")
)

// parseLease returns the lease of an offer or an acknowledgment, for a request that was first sent
// at a time (RFC 2131, section 4.4.1).
func parseLease(m *dhcpv4.DHCPv4, sentAt, now time.Time) (l Lease, err error) {
	server, ok := hostAddr(m.ServerIdentifier())
	if !ok {
		return l, errNoServer
	}
	own, ok := hostAddr(m.YourIPAddr)
	if !ok {
		return l, errAddr
	}
	bits, ok := maskLen(m, own)
	if !ok {
		return l, errMask
	}
	l = Lease{Addr: netip.PrefixFrom(own, bits), Server: server, ObtainedAt: sentAt}
	if !usableIn(l.Addr, own) {
		return l, errAddr
	}
	if !l.setTimes(m, now) {
		return l, errShort
	}
	l.DNS = hostAddrs(m.DNS(), maxServers)
	l.Routes = routesOf(m, l.Addr)
	if name := m.DomainName(); validDomain(name) {
		l.Domain = strings.TrimSuffix(name, ".")
	}
	l.Search = searchList(m.Options.Get(dhcpv4.OptionDNSDomainSearchList))
	if b := m.Options.Get(dhcpv4.OptionInterfaceMTU); len(b) == 2 {
		if mtu := int(b[0])<<8 | int(b[1]); mtu >= minMTU {
			l.MTU = mtu
		}
	}
	return l, nil
}

// setTimes sets the times of the lease, and reports whether it is long enough. T1 and T2 that do
// not fit are replaced by the defaults (RFC 2131, section 4.4.5).
func (l *Lease) setTimes(m *dhcpv4.DHCPv4, now time.Time) bool {
	length := m.IPAddressLeaseTime(0)
	if length < minLease {
		return false
	}
	t1, t2 := m.IPAddressRenewalTime(length/2), m.IPAddressRebindingTime(length/8*7)
	if t1 < minRenewal || t1 >= t2 || t2 >= length {
		t1, t2 = length/2, length/8*7
	}
	if length >= infinite {
		return true
	}
	l.ExpiresAt, l.RebindAt, l.RenewAt = l.ObtainedAt.Add(length), l.ObtainedAt.Add(t2), l.ObtainedAt.Add(t1)
	if earliest := now.Add(minRenewal); l.RenewAt.Before(earliest) {
		l.RenewAt = earliest
	}
	return l.ExpiresAt.Sub(now) >= minRenewal
}

// maskLen returns the length of the network of an address: that of the subnet mask (option 1), or
// without one that of the address's class (RFC 791, section 3.2).
func maskLen(m *dhcpv4.DHCPv4, a netip.Addr) (bits int, ok bool) {
	b := m.Options.Get(dhcpv4.OptionSubnetMask)
	if b == nil {
		switch first := a.As4()[0]; {
		case first < 128:
			return 8, true
		case first < 192:
			return 16, true
		}
		return 24, true
	}
	ones, size := net.IPMask(b).Size()
	return ones, size == 32 && ones > 0
}

// routesOf returns the routes of a lease (RFC 3442).
func routesOf(m *dhcpv4.DHCPv4, own netip.Prefix) (all []ip.Route) {
	if m.Options.Has(dhcpv4.OptionClasslessStaticRoute) {
		for _, r := range m.ClasslessStaticRoute() {
			if route, ok := classlessRoute(r, own); ok && len(all) < maxRoutes {
				all = append(all, route)
			}
		}
		if len(all) > 0 {
			return all
		}
	}
	for _, router := range hostAddrs(m.Router(), maxServers) {
		if router != own.Addr() {
			return []ip.Route{{To: netip.PrefixFrom(netip.IPv4Unspecified(), 0), Via: router}}
		}
	}
	return nil
}

// classlessRoute returns a route of option 121. The router 0.0.0.0 means that the network is on the
// link.
func classlessRoute(r *dhcpv4.Route, own netip.Prefix) (ip.Route, bool) {
	to, ok := netip.AddrFromSlice(r.Dest.IP.To4())
	ones, size := r.Dest.Mask.Size()
	if !ok || size != 32 || to.IsMulticast() || to.IsLoopback() {
		return ip.Route{}, false
	}
	route := ip.Route{To: netip.PrefixFrom(to, ones).Masked()}
	if r.Router.IsUnspecified() {
		return route, ones > 0
	}
	route.Via, ok = hostAddr(r.Router)
	return route, ok && route.Via != own.Addr()
}

// hostAddr returns an IPv4 address that a host can have: not zero, loopback, multicast or reserved.
func hostAddr(b net.IP) (netip.Addr, bool) {
	a, ok := netip.AddrFromSlice(b.To4())
	if !ok {
		return a, false
	}
	first := a.As4()[0]
	return a, first != 0 && first != 127 && first < 224
}

// hostAddrs returns the addresses of hosts among those of an option, without duplicates.
func hostAddrs(all []net.IP, most int) (hosts []netip.Addr) {
	seen := map[netip.Addr]bool{}
	for _, b := range all {
		if a, ok := hostAddr(b); ok && !seen[a] && len(hosts) < most {
			seen[a] = true
			hosts = append(hosts, a)
		}
	}
	return hosts
}

// usableIn reports whether an address is not that of its network, nor its broadcast address.
func usableIn(p netip.Prefix, a netip.Addr) bool {
	if p.Bits() >= 31 {
		return true
	}
	b := a.As4()
	w := uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
	rest := uint32(1)<<(32-p.Bits()) - 1
	return w&rest != 0 && w&rest != rest
}

// validDomain reports whether a text is a domain name of letters, digits, hyphens and underscores:
// it comes from the network, and is shown to people.
func validDomain(name string) bool {
	name = strings.TrimSuffix(name, ".")
	if name == "" || len(name) > 253 {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || strings.Trim(label, "-") != label || strings.ContainsFunc(label, notInName) {
			return false
		}
	}
	return true
}

// notInName reports whether a character is none of a domain name.
func notInName(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
}

// String describes the lease in a line.
func (l *Lease) String() string {
	until := "without end"
	if !l.ExpiresAt.IsZero() {
		until = "for " + l.ExpiresAt.Sub(l.ObtainedAt).String()
	}
	return fmt.Sprintf("%v from %v %s", l.Addr, l.Server, until)
}
