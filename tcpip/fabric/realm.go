package fabric

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// realm is a set of nodes with addresses of their own: the public network, or what is behind a NAT.
type realm struct {
	owners  map[netip.Addr]*Node
	gateway *Node // the NAT; nil in the public network
	base4   netip.Prefix
	base6   netip.Prefix // invalid behind a NAT
	last    uint32       // number of the last address
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

// add gives a node addresses.
func (r *realm) add(n *Node, addrs []netip.Prefix) error {
	for _, p := range addrs {
		if other := r.owners[p.Addr()]; other != nil {
			return fmt.Errorf("fabric: %s has the address %v of %s: give it another", n.name, p.Addr(), other.name)
		}
	}
	for _, p := range addrs {
		r.owners[p.Addr()] = n
	}
	return nil
}
