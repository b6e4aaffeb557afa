package tcpip

import (
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"weir/tcpip/ip"
	"weir/tcpip/multicast"
	"weir/wire"
)

// membership is a group that a socket has joined on an interface.
type membership struct {
	link   *iface
	group  netip.Addr // without a zone
	filter multicast.Filter
}

// groupTable has the groups of an interface.
type groupTable struct {
	// groups that sockets have joined; nil: none. Replaced as a whole under mu
	joined atomic.Pointer[map[netip.Addr]bool]
	// what routers know of the groups, by family; nil on the loopback. Guarded by iface.mu
	igmp, mld *multicast.Host

	mu        sync.Mutex // iface.mu may be taken under it
	members   map[netip.Addr][]*UDPConn
	solicited []netip.Addr // the solicited-node groups of addresses that are configured
}

// startGroups makes the state for the routers on the link.
func (i *iface) startGroups() {
	i.groups.members = map[netip.Addr][]*UDPConn{}
	if i.loopback {
		return
	}
	i.groups.igmp, i.groups.mld = i.newGroupHosts()
}

// newGroupHosts returns the state of IGMP and MLD without groups.
func (i *iface) newGroupHosts() (igmp, mld *multicast.Host) {
	c := multicast.Config{MaxReport: min(maxGroupReport, max(leastGroupReport, int(i.mtu.Load())-wire.IPv4Header-len(wire.RouterAlertOption()))), Random: func(most time.Duration) time.Duration { return time.Duration(i.s.random.Int64N(int64(most) + 1)) }}
	igmp = multicast.New(c)
	c.IPv6, c.MaxReport = true, maxGroupReport
	return igmp, multicast.New(c)
}

// Limits of the largest report, in bytes: one of MLD fits in the smallest MTU of IPv6, and the
// largest record of IGMP fits in a report.
const (
	maxGroupReport   = 1200
	leastGroupReport = 300
)

// hasGroup reports whether a socket has joined a group, which has no zone, on the interface.
func (i *iface) hasGroup(group netip.Addr) bool {
	joined := i.groups.joined.Load()
	return joined != nil && (*joined)[group]
}

// groupOps are functions that only stacks have whose sockets join groups. A program without such
// sockets does not link them: see Stack.groupOps.
type groupOps struct {
	filter  func(i *iface, group netip.Addr) multicast.Filter // of the members; groups.mu is held
	deliver func(*packet, wire.UDP) layer
	loop    func(*Stack, *iface, outgoingPacket, []byte)
	leave   func(*UDPConn)
}

// useGroups sets Stack.groupOps.
func (s *Stack) useGroups() {
	if s.groupOps.Load() == nil {
		s.groupOps.Store(&groupOps{(*iface).memberFilterLocked, (*packet).udpToGroup, (*Stack).loopToGroup, (*UDPConn).leaveGroups})
	}
}

// updateGroupLocked reports the filter of a group to the routers on the link, if it has changed.
// The caller holds groups.mu.
func (i *iface) updateGroupLocked(group netip.Addr) {
	var filter multicast.Filter
	if slices.Contains(i.groups.solicited, group) {
		filter = multicast.AnySource
	} else if ops := i.s.groupOps.Load(); ops != nil {
		filter = ops.filter(i, group)
	}
	host := i.groups.igmp
	if group.Is6() {
		host = i.groups.mld
	}
	if host == nil {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	host.Set(group, filter, multicast.Time(i.s.now()), i.readers[0].sendGroupReport)
	i.readers[0].requestCheck()
}

// memberFilterLocked returns the filter of the sockets in a group. The caller holds groups.mu.
func (i *iface) memberFilterLocked(group netip.Addr) multicast.Filter {
	var filters []multicast.Filter
	for _, u := range i.groups.members[group] {
		filters = append(filters, u.membershipOf(i, group).filter)
	}
	return multicast.Merge(filters)
}

// updateSolicited reports the solicited-node groups of the configured addresses: a switch that
// snoops forwards solicitations only where it has seen a report (RFC 4861, section 7.2.1; RFC
// 4541).
func (i *iface) updateSolicited() {
	if !i.resolvesNeighbours() {
		return
	}
	g := &i.groups
	g.mu.Lock()
	defer g.mu.Unlock()
	var now []netip.Addr
	for _, p := range i.configured() {
		if group := solicitedNode(p.Addr()); p.Addr().Is6() && !slices.Contains(now, group) {
			now = append(now, group)
		}
	}
	before := g.solicited
	g.solicited = now
	for _, group := range before {
		if !slices.Contains(now, group) {
			i.updateGroupLocked(group)
		}
	}
	for _, group := range now {
		if !slices.Contains(before, group) {
			i.updateGroupLocked(group)
		}
	}
}

// updateJoinedLocked updates groups.joined for a group. The caller holds groups.mu.
func (i *iface) updateJoinedLocked(group netip.Addr) {
	if len(i.groups.members[group]) == 0 {
		delete(i.groups.members, group)
	}
	joined := map[netip.Addr]bool{}
	for a := range i.groups.members {
		joined[a] = true
	}
	i.groups.joined.Store(&joined)
}

// membershipOf returns the membership of a socket in a group; nil: it has not joined.
func (u *UDPConn) membershipOf(i *iface, group netip.Addr) *membership {
	if all := u.memberships.Load(); all != nil {
		for n := range *all {
			if m := &(*all)[n]; m.link == i && m.group == group {
				return m
			}
		}
	}
	return nil
}

// admits reports whether a socket receives what a source has sent to a group on an interface.
func (u *UDPConn) admits(i *iface, group, source netip.Addr) bool {
	m := u.membershipOf(i, group)
	return m != nil && m.filter.Admits(source)
}

// JoinGroup has the socket receive datagrams for a group, from all sources, on the link with that
// name: "lo" is the loopback, and "" the link of the group's zone, or the one that a route to the
// group leads to, or the first. The socket must be at an unspecified address, such as that of
// ListenPacket("udp", ":5353"). It receives only groups that it has joined itself: with Linux, that
// is so without IP_MULTICAST_ALL. Close leaves all groups.
func (u *UDPConn) JoinGroup(link string, group netip.Addr) error {
	return u.changeMembership(link, group, func(m *membership) (multicast.Filter, error) {
		if m != nil {
			return m.filter, syscall.EADDRINUSE
		}
		return multicast.AnySource, nil
	})
}

// LeaveGroup ends what JoinGroup or SetSourceFilter began with the same link and group.
func (u *UDPConn) LeaveGroup(link string, group netip.Addr) error {
	return u.changeMembership(link, group, func(m *membership) (f multicast.Filter, err error) {
		if m == nil {
			err = syscall.EADDRNOTAVAIL
		}
		return f, err
	})
}

// SetSourceFilter has the socket receive datagrams for a group from these sources only, or, if
// exclude is set, from all but these: at most 64 (RFC 3678, section 4.2). It joins a group that the
// socket is not in, and leaves one without sources to receive from. See JoinGroup.
func (u *UDPConn) SetSourceFilter(link string, group netip.Addr, exclude bool, sources []netip.Addr) error {
	f := multicast.Filter{Exclude: exclude}
	for _, a := range sources {
		f.Sources = append(f.Sources, a.Unmap().WithZone(""))
	}
	f.Sources = multicast.SortSources(f.Sources)
	return u.changeMembership(link, group, func(*membership) (multicast.Filter, error) {
		switch {
		case len(f.Sources) > multicast.MaxSources:
			return f, syscall.ENOBUFS
		case slices.ContainsFunc(f.Sources, func(a netip.Addr) bool { return a.Is4() != group.Unmap().Is4() || a.IsMulticast() }):
			return f, syscall.EINVAL
		}
		return f, nil
	})
}

// changeMembership sets the filter of a membership to what change returns for the present one, nil
// if there is none.
func (u *UDPConn) changeMembership(name string, group netip.Addr, change func(*membership) (multicast.Filter, error)) error {
	i, err := u.groupLink(name, group)
	if err == nil {
		err = u.canJoin()
	}
	if err != nil {
		return u.wrap("set", err)
	}
	u.s.useGroups()
	group = group.Unmap().WithZone("")
	i.groups.mu.Lock()
	defer i.groups.mu.Unlock()
	u.membershipsMu.Lock()
	defer u.membershipsMu.Unlock()
	f, err := change(u.membershipOf(i, group))
	if err == nil && u.isClosed() {
		err = net.ErrClosed
	}
	if err == nil {
		u.setMembershipLocked(membership{i, group, f})
	}
	return u.wrap("set", err)
}

// setMembershipLocked adds or replaces a membership, or removes it if its filter is none. The
// caller holds membershipsMu and the groups.mu of the interface.
func (u *UDPConn) setMembershipLocked(m membership) {
	var all []membership
	if now := u.memberships.Load(); now != nil {
		all = slices.DeleteFunc(slices.Clone(*now), func(o membership) bool { return o.link == m.link && o.group == m.group })
	}
	members := slices.DeleteFunc(m.link.groups.members[m.group], func(o *UDPConn) bool { return o == u })
	if !m.filter.IsNone() {
		all, members = append(all, m), append(members, u)
	}
	u.memberships.Store(&all)
	m.link.groups.members[m.group] = members
	m.link.updateJoinedLocked(m.group)
	m.link.updateGroupLocked(m.group)
}

// leaveGroups leaves all groups. The socket is closed, so that it joins no other.
func (u *UDPConn) leaveGroups() {
	for all := u.memberships.Load(); all != nil && len(*all) > 0; all = u.memberships.Load() {
		m := (*all)[0]
		m.link.groups.mu.Lock()
		u.membershipsMu.Lock()
		m.filter = multicast.Filter{}
		u.setMembershipLocked(m)
		u.membershipsMu.Unlock()
		m.link.groups.mu.Unlock()
	}
}

// groupLink returns the interface on which a socket joins a group, or sends to one.
func (u *UDPConn) groupLink(name string, group netip.Addr) (*iface, error) {
	group = group.Unmap()
	switch {
	case !group.IsMulticast() || name != "" && group.Zone() != "" && group.Zone() != name:
		return nil, syscall.EINVAL
	case !u.family.has(group):
		return nil, syscall.EAFNOSUPPORT
	case name == "" && group.Zone() == "" && u.link != nil:
		return u.link, nil
	case name != "":
		if n := u.s.zoneNumber(name); n > 0 {
			return u.sameLink(u.s.ifaces[n-1])
		}
		return nil, &net.AddrError{Err: "no such link", Addr: name}
	}
	i := u.s.linkOf(group, ip.AnyLink)
	if i == nil {
		return nil, &net.AddrError{Err: "no such link", Addr: group.Zone()}
	}
	return u.sameLink(i)
}

// sameLink returns an error if the socket is for another link.
func (u *UDPConn) sameLink(i *iface) (*iface, error) {
	if u.link != nil && u.link != i {
		return nil, syscall.EINVAL
	}
	return i, nil
}
