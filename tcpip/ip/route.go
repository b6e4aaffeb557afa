package ip

import (
	"fmt"
	"net/netip"
	"slices"
)

// Route is where packets for a network go.
type Route struct {
	To netip.Prefix
	// a neighbour that passes them on; zero: those in the network are neighbours themselves
	Via netip.Addr
	// the host's address that they are from; zero: one in the network of the neighbour that they go
	// to
	Src netip.Addr

	Link int // which of the host's links leads there; 0: the first
}

// Routes are a host's. They are not changed while they are used.
type Routes []Route

// NewRoutes puts routes in the order in which they are looked at: the longest prefix first, and of
// those alike the one that was named first.
func NewRoutes(all ...Route) (Routes, error) {
	for _, r := range all {
		if !r.To.IsValid() || !r.To.Addr().Is4() || r.Via.IsValid() && !r.Via.Is4() || r.Src.IsValid() && !r.Src.Is4() {
			return nil, fmt.Errorf("ip: the route to %v by %v is none of IPv4", r.To, r.Via)
		}
	}
	routes := slices.Clone(all)
	slices.SortStableFunc(routes, func(a, b Route) int { return b.To.Bits() - a.To.Bits() })
	return routes, nil
}

// Next is the neighbour that a packet for an address goes to, and the route that leads there; ok is
// false when there is none.
func (r Routes) Next(dst netip.Addr) (hop netip.Addr, by Route, ok bool) {
	for _, route := range r {
		if !route.To.Contains(dst) {
			continue
		}
		if route.Via.IsValid() {
			return route.Via, route, true
		}
		return dst, route, true
	}
	return netip.Addr{}, Route{}, false
}
