package tcpip

import (
	"cmp"
	"math/bits"
	"net/netip"
	"slices"
)

// This file chooses addresses by RFC 6724: the source of a packet, and the order of destinations.

// sourceFor6 returns the source address for packets to an address (RFC 6724, section 5). It is
// invalid if there is none.
func (a *addresses) sourceFor6(dst netip.Addr) (best netip.Addr) {
	for _, own := range a.v6 {
		if !best.IsValid() || a.isBetterSource(own, best, dst) {
			best = own
		}
	}
	return best
}

// isBetterSource reports whether a is a better source than b for packets to dst (RFC 6724, section
// 5, rules 1, 2, 3, 6, 7 and 8). The addresses are of the outgoing interface (rule 5) and of no
// mobile host (rule 4).
func (all *addresses) isBetterSource(a, b, dst netip.Addr) bool {
	if a == dst || b == dst {
		return a == dst
	}
	if sa, sb, sd := scopeOf(a), scopeOf(b), scopeOf(dst); sa != sb {
		if sa < sb {
			return sa >= sd
		}
		return sb < sd
	}
	if da, db := slices.Contains(all.deprecated, a), slices.Contains(all.deprecated, b); da != db {
		return db
	}
	_, la := policyOf(a)
	_, lb := policyOf(b)
	if _, ld := policyOf(dst); (la == ld) != (lb == ld) {
		return la == ld
	}
	if ta, tb := slices.Contains(all.temporary, a), slices.Contains(all.temporary, b); ta != tb {
		return ta
	}
	return commonPrefix(a, dst) > commonPrefix(b, dst)
}

// Scopes of addresses (RFC 4291, section 2.7; RFC 6724, section 3.1).
const (
	linkScope   = 2
	globalScope = 14
)

// scopeOf returns the scope of an address. Unique local addresses have global scope (RFC 4193).
func scopeOf(a netip.Addr) int {
	switch {
	case a.IsMulticast():
		if a.Is4() {
			return globalScope
		}
		return int(a.As16()[1] & 15)
	case a.IsLinkLocalUnicast(), a.IsLoopback(): // of IPv4 too: 169.254/16 and 127/8
		return linkScope
	}
	return globalScope
}

// commonPrefix returns how many leading bits two addresses have in common, at most 64 (RFC 6724,
// section 2.2).
func commonPrefix(a, b netip.Addr) (n int) {
	x, y := a.As16(), b.As16()
	for i := range 8 {
		if d := x[i] ^ y[i]; d != 0 {
			return n + bits.LeadingZeros8(d)
		}
		n += 8
	}
	return n
}

// policies is the policy table (RFC 6724, section 2.1). IPv4 addresses are looked up as IPv4-mapped
// ones.
var policies = []struct {
	prefix            netip.Prefix
	precedence, label int
}{
	{netip.MustParsePrefix("::1/128"), 50, 0},
	{netip.MustParsePrefix("::ffff:0:0/96"), 35, 4},
	{netip.MustParsePrefix("2002::/16"), 30, 2},
	{netip.MustParsePrefix("2001::/32"), 5, 5},
	{netip.MustParsePrefix("fc00::/7"), 3, 13},
	{netip.MustParsePrefix("::/96"), 1, 3},
	{netip.MustParsePrefix("fec0::/10"), 1, 11},
	{netip.MustParsePrefix("3ffe::/16"), 1, 12},
}

// policyOf returns the precedence and the label of an address.
func policyOf(a netip.Addr) (precedence, label int) {
	a = netip.AddrFrom16(a.As16())
	for _, p := range policies {
		if contains6(p.prefix, a) {
			return p.precedence, p.label
		}
	}
	return 40, 1
}

// contains6 reports whether a prefix contains an address, IPv4-mapped ones included.
func contains6(p netip.Prefix, a netip.Addr) bool {
	x, y := p.Addr().As16(), a.As16()
	for i := range 16 {
		rest := p.Bits() - 8*i
		if rest <= 0 {
			return true
		}
		if (x[i]^y[i])>>max(0, 8-rest) != 0 {
			return false
		}
	}
	return true
}

// destination is a destination with its source; the source is invalid if there is no route.
type destination struct {
	addr, src  netip.Addr
	deprecated bool // the source
}

// sortDestinations sorts addresses of a host in the order in which they should be tried (RFC 6724,
// section 6, rules 1, 2, 3, 5, 6, 8 and 9). Go's resolver has sorted them for the addresses of the
// kernel, not of the stack.
func (s *Stack) sortDestinations(all []netip.Addr) {
	list := make([]*destination, len(all))
	for i, a := range all {
		list[i] = &destination{addr: s.canonicalAddr(a)}
		if by, _, src, ok := s.routeTo(list[i].addr, netip.Addr{}); ok {
			list[i].src, list[i].deprecated = src, slices.Contains(by.ownAddrs.Load().deprecated, src)
		}
	}
	slices.SortStableFunc(list, compareDestinations)
	for i, d := range list {
		all[i] = d.addr
	}
}

// compareDestinations is below zero if a should be tried before b.
func compareDestinations(a, b *destination) int {
	first := func(x, y bool) int {
		switch {
		case x == y:
			return 0
		case x:
			return -1
		}
		return 1
	}
	if c := first(a.src.IsValid(), b.src.IsValid()); c != 0 || !a.src.IsValid() {
		return c
	}
	pa, la := policyOf(a.addr)
	pb, lb := policyOf(b.addr)
	_, sa := policyOf(a.src)
	_, sb := policyOf(b.src)
	c := cmp.Or(first(scopeOf(a.addr) == scopeOf(a.src), scopeOf(b.addr) == scopeOf(b.src)), first(!a.deprecated, !b.deprecated), first(la == sa, lb == sb),
		cmp.Compare(pb, pa), cmp.Compare(scopeOf(a.addr), scopeOf(b.addr)))
	if c == 0 && a.addr.Is6() && b.addr.Is6() {
		c = cmp.Compare(commonPrefix(b.addr, b.src), commonPrefix(a.addr, a.src))
	}
	return c
}
