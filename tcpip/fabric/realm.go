package fabric

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
)

// realm is a set of nodes with addresses of their own: the public network, or what is behind a NAT.
type realm struct {
	owners  map[netip.Addr]*Node
	gateway *Node // the NAT; nil in the public network
	base4   netip.Prefix
	base6   netip.Prefix // invalid behind a NAT
	last    uint32       // number of the last address
	// broadcast addresses of IPv4 networks that hosts have by their own addresses; nil: none
	broadcasts map[netip.Addr]bool
}

func newPublicRealm() *realm {
	return &realm{owners: map[netip.Addr]*Node{}, base4: netip.MustParsePrefix("10.0.0.0/8"), base6: netip.MustParsePrefix("fd00::/64")}
}

// newPrivateRealm returns the realm behind a NAT: 192.168.1.0/24 to 192.168.255.0/24, again and
// again, since NATs may use the same addresses.
func newPrivateRealm(gateway *Node, number int) *realm {
	base := netip.AddrFrom4([4]byte{192, 168, byte(1 + number%255), 0})
	return &realm{owners: map[netip.Addr]*Node{}, gateway: gateway, base4: netip.PrefixFrom(base, 24)}
}

// next returns addresses for another node.
func (r *realm) next() ([]netip.Prefix, error) {
	for {
		r.last++
		size := 32 - r.base4.Bits()
		if r.last >= 1<<size-1 {
			return nil, fmt.Errorf("fabric: %v has no free address: behind a NAT there may be %d hosts and routers, in all %d", r.base4, 253, 1<<24-2)
		}
		b := r.base4.Addr().As4()
		binary.BigEndian.PutUint32(b[:], binary.BigEndian.Uint32(b[:])+r.last)
		all := []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4(b), r.base4.Bits())}
		if r.base6.IsValid() {
			c := r.base6.Addr().As16()
			binary.BigEndian.PutUint32(c[12:], r.last)
			all = append(all, netip.PrefixFrom(netip.AddrFrom16(c), r.base6.Bits()))
		}
		if r.owners[all[0].Addr()] == nil && (len(all) == 1 || r.owners[all[1].Addr()] == nil) {
			return all, nil
		}
	}
}

// check returns an error for an address that no host of the realm can have.
func (r *realm) check(p netip.Prefix) error {
	a := p.Addr()
	switch {
	case !p.IsValid() || a.Is4In6():
		return errors.New("make it an address of IPv4 or IPv6 with a prefix length")
	case a.IsUnspecified() || a.IsLoopback() || isReservedGroup(a, r):
		return errors.New("make it one of a single host: it is a loopback, broadcast, multicast or unspecified address")
	case a.Is6() && r.gateway != nil:
		return errors.New("make it one of IPv4: a NAT translates no other")
	}
	return nil
}

// add gives a node addresses.
func (r *realm) add(n *Node, addrs []netip.Prefix) error {
	for i, p := range addrs {
		if err := r.check(p); err != nil {
			return fmt.Errorf("fabric: %s has the address %v: %w", n.name, p, err)
		}
		if other := r.owners[p.Addr()]; other != nil {
			return fmt.Errorf("fabric: %s has the address %v of %s: give it another", n.name, p.Addr(), other.name)
		}
		if slices.ContainsFunc(addrs[:i], func(q netip.Prefix) bool { return q.Addr() == p.Addr() }) {
			return fmt.Errorf("fabric: %s has the address %v twice: leave one out", n.name, p.Addr())
		}
	}
	for _, p := range addrs {
		r.owners[p.Addr()] = n
		if p.Addr().Is4() && p.Bits() < 31 && p.Masked() != r.base4 {
			r.addBroadcast(lastAddr(p))
		}
	}
	return nil
}

func (r *realm) addBroadcast(a netip.Addr) {
	if r.broadcasts == nil {
		r.broadcasts = map[netip.Addr]bool{}
	}
	r.broadcasts[a] = true
}
