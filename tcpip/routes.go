package tcpip

import (
	"fmt"
	"net/netip"
	"slices"

	"weir/tcpip/ip"
)

// This file builds the routing table and looks routes up. An address belongs to its link: packets
// from it leave by no other (the strong end system model: RFC 1122, section 3.3.4.2).

// setRoutesLocked makes the routing table from extra routes and the networks of the interfaces. A
// router must be a neighbour. The caller holds configMu.
func (s *Stack) setRoutesLocked(extra []ip.Route) error {
	direct, err := s.directRoutesLocked(extra)
	if err != nil {
		return err
	}
	extra = slices.Clone(extra)
	for i := range extra {
		if err := s.checkRoute(direct, &extra[i]); err != nil {
			return err
		}
	}
	table, err := s.routesWithLocked(extra)
	if err != nil {
		return err
	}
	s.extraRoutes = extra
	s.routes.Store(&table)
	return nil
}

// checkRoute returns an error for a route that cannot be used, and sets its link (see setLink).
func (s *Stack) checkRoute(direct ip.Routes, r *ip.Route) error {
	switch {
	case r.Link < 0 || r.Link >= len(s.ifaces):
		return fmt.Errorf("tcpip: the route to %v is by link %d: the stack has links 0 to %d", r.To, r.Link, len(s.ifaces)-1)
	case r.Via.IsValid() && !s.setLink(direct, r):
		return fmt.Errorf("tcpip: the route to %v by %v: the router is not on the link; use a router in one of the networks of Addrs", r.To, r.Via)
	case r.Src.IsValid() && !s.isConfigured(r.Src):
		return fmt.Errorf("tcpip: the route to %v from %v: the source is not an address of the stack", r.To, r.Src)
	}
	return nil
}

// useRoutesLocked is setRoutesLocked without those extra routes that cannot be used now. The caller
// holds configMu.
func (s *Stack) useRoutesLocked(extra []ip.Route) {
	direct, err := s.directRoutesLocked(extra)
	if err != nil {
		return // it cannot happen: the networks were checked when they were added
	}
	usable := slices.DeleteFunc(slices.Clone(extra), func(r ip.Route) bool { return r.Via.IsValid() && !s.setLink(direct, &r) })
	if table, err := s.routesWithLocked(usable); err == nil {
		s.routes.Store(&table)
	}
}

// directRoutesLocked returns the routes to networks whose hosts are neighbours, extra ones among
// them. The caller holds configMu.
func (s *Stack) directRoutesLocked(extra []ip.Route) (ip.Routes, error) {
	return s.routesWithLocked(slices.DeleteFunc(slices.Clone(extra), func(r ip.Route) bool { return r.Via.IsValid() || r.Link < 0 || r.Link >= len(s.ifaces) }))
}

// routesWithLocked returns the routes to the networks of the interfaces, extra ones, and those that
// routers have announced. The caller holds configMu.
func (s *Stack) routesWithLocked(extra []ip.Route) (ip.Routes, error) {
	var all []ip.Route
	for n, i := range s.ifaces {
		for _, a := range i.configured() {
			if !a.Addr().IsLinkLocalUnicast() || a.Addr().Is4() {
				all = append(all, ip.Route{To: a.Masked(), Link: n})
			}
		}
	}
	all = append(append(all, extra...), s.learnedRoutesLocked()...)
	for n, i := range s.ifaces {
		all = append(all, i.autoRoutesLocked(n)...)
	}
	for n := range all {
		all[n].Metric += s.ifaces[all[n].Link].metric
	}
	return ip.NewRoutes(all...)
}

// setLink sets the link of a route to the one that its router is a neighbour on, and reports
// whether there is one. A link that the route specifies, or the zone of its router, has priority.
func (s *Stack) setLink(table ip.Routes, r *ip.Route) bool {
	if zone := r.Via.Zone(); zone != "" {
		n := s.zoneNumber(zone)
		r.Link, r.Via = max(0, n-1), r.Via.WithZone("")
		return n > 0
	}
	if r.Via.Is6() && r.Via.IsLinkLocalUnicast() {
		return true
	}
	_, by, ok := table.NextBy(r.Via, r.Link)
	if (!ok || by.Via.IsValid()) && r.Link == 0 {
		_, by, ok = table.Next(r.Via)
	}
	r.Link = by.Link
	return ok && !by.Via.IsValid() && !s.isConfigured(r.Via)
}

// isConfigured reports whether an address is configured on a link.
func (s *Stack) isConfigured(a netip.Addr) bool {
	return slices.ContainsFunc(s.ifaces, func(i *iface) bool { return !i.loopback && i.isConfigured(a) })
}

// routeTo returns where a packet for dst goes: the interface, the next hop and the source address.
// from is the packet's source, which chooses the interface if it is an address of one; otherwise it
// may be invalid. Packets for the stack itself go to the loopback.
func (s *Stack) routeTo(dst, from netip.Addr) (i *iface, hop, src netip.Addr, ok bool) {
	if s.owns(dst) {
		return s.loopback(), dst, dst, true
	}
	n := s.linkWith(from)
	if isLinkScoped(dst) || dst.IsMulticast() || dst == limitedBroadcast {
		if i = s.linkOf(dst, n); i != nil {
			src = i.sourceFor(dst)
		}
		return i, dst, src, src.IsValid()
	}
	hop, r, ok := s.routes.Load().NextBy(dst, n)
	if !ok {
		return nil, hop, hop, false
	}
	i, src = s.ifaces[r.Link], r.Src
	if !src.IsValid() || !i.hasAddr(src) {
		src = i.sourceOn(hop, dst)
	}
	return i, i.redirected(dst, i.zoned(hop)), src, src.IsValid()
}

// nextHop returns the neighbour that packets to an address of another host are sent to by the
// interface; ok is false if no route by it leads there.
func (i *iface) nextHop(dst netip.Addr) (hop netip.Addr, ok bool) {
	hop, ok = i.routedHop(dst)
	return i.redirected(dst, hop), ok
}

// routedHop is nextHop without redirects.
func (i *iface) routedHop(dst netip.Addr) (hop netip.Addr, ok bool) {
	if isLinkScoped(dst) {
		return dst, true
	}
	hop, _, ok = i.s.routes.Load().NextBy(dst, i.index)
	return i.zoned(hop), ok
}

// loopback returns the loopback interface.
func (s *Stack) loopback() *iface { return s.ifaces[len(s.ifaces)-1] }

// linkWith returns the index of the link that has an address; ip.AnyLink for an address that none
// has, and where there is only one link.
func (s *Stack) linkWith(a netip.Addr) int {
	if len(s.ifaces) > 2 && a.IsValid() && !a.IsUnspecified() {
		for n, i := range s.ifaces[:len(s.ifaces)-1] {
			if i.hasAddr(a) {
				return n
			}
		}
	}
	return ip.AnyLink
}

// limitedBroadcast is the address of all hosts on the link (RFC 1122, section 3.2.1.3 (c)).
var limitedBroadcast = netip.AddrFrom4([4]byte{255, 255, 255, 255})

// linkOf returns the interface of a link-local address or of a group: that of its zone, or that of
// the packet's source, whose index from is, or the one that a route leads to, or the first. It is
// nil for a zone that no interface has.
func (s *Stack) linkOf(a netip.Addr, from int) *iface {
	switch n := s.zoneNumber(a.Zone()); {
	case n > 0:
		return s.ifaces[n-1]
	case a.Zone() != "":
		return nil
	}
	if from == ip.AnyLink {
		if _, r, ok := s.routes.Load().Next(a); ok {
			from = r.Link
		}
	}
	return s.ifaces[max(0, from)]
}
