package ip

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
)

// Route is an entry of a routing table.
type Route struct {
	To netip.Prefix
	// Via is the gateway; the zero value: the network is directly connected.
	Via netip.Addr
	// Src is the source address of packets; the zero value: the host's address in the network of
	// the next hop.
	Src netip.Addr

	// Link is the index of the host's link that leads there; 0: the first.
	Link int
	// Metric orders routes to the same network: the one with the lowest is used.
	Metric int
}

// Routes is a routing table. It must not change while it is in use.
type Routes []Route

// NewRoutes sorts routes into lookup order: IPv4 first, the longest prefix first, of equal ones the
// lowest metric first, and equal ones of these in the order given.
func NewRoutes(all ...Route) (Routes, error) {
	for _, r := range all {
		if four := r.To.Addr().Is4(); !r.To.IsValid() || r.Via.IsValid() && r.Via.Is4() != four || r.Src.IsValid() && r.Src.Is4() != four {
			return nil, fmt.Errorf("ip: the route to %v via %v mixes IPv4 and IPv6: use addresses of one of them", r.To, r.Via)
		}
	}
	order := make([]*Route, len(all)) // all slices of pointers are sorted by the same code
	for i := range all {
		order[i] = &all[i]
	}
	slices.SortStableFunc(order, func(a, b *Route) int {
		return cmp.Or(a.To.Addr().BitLen()-b.To.Addr().BitLen(), b.To.Bits()-a.To.Bits(), cmp.Compare(a.Metric, b.Metric))
	})
	routes := make(Routes, len(all))
	for i, r := range order {
		routes[i] = *r
	}
	return routes, nil
}

// AnyLink is the link of NextBy that stands for all.
const AnyLink = -1

// Next returns the next hop for an address, and its route; ok is false if there is none.
func (r Routes) Next(dst netip.Addr) (hop netip.Addr, by Route, ok bool) {
	return r.NextBy(dst, AnyLink)
}

// NextBy is Next among the routes of a link.
func (r Routes) NextBy(dst netip.Addr, link int) (hop netip.Addr, by Route, ok bool) {
	for _, route := range r {
		if !route.To.Contains(dst) || link != AnyLink && route.Link != link {
			continue
		}
		if route.Via.IsValid() {
			return route.Via, route, true
		}
		return dst, route, true
	}
	return netip.Addr{}, Route{}, false
}
