package tcpip

import (
	"net/netip"
	"slices"

	"weir/tcpip/ndp"
)

// LinkChanged tells the stack that the link with that name leads to another network now: a phone
// has joined another Wi-Fi, or a packet tunnel got another path. All that routers have announced
// there is removed: addresses, temporary ones among them (RFC 8981, section 3.6), routes, the MTU
// and DNS servers. Connections from these addresses end with an error that matches ECONNABORTED.
// Neighbours are forgotten too. Then the stack solicits routers again, probes for its configured
// addresses again (RFC 4862, section 5.4), and reports its groups. The settings of SetLearned
// stay: their protocol replaces them.
func (s *Stack) LinkChanged(name string) error {
	s.configMu.Lock()
	defer s.configMu.Unlock()
	if err := s.canConfigureLocked(); err != nil {
		return err
	}
	i, err := s.linkNamed(name)
	if err != nil {
		return err
	}
	i.mu.Lock()
	i.neigh.Clear()
	i.redirects.Store(nil)
	if i.auto.host != nil {
		i.auto.host.Restart(ndp.Time(s.now()))
	}
	i.auto.pending = false
	i.mu.Unlock()
	i.applyAutoconfLocked(&ndp.State{})
	i.restartGroups()
	i.claimAgainLocked()
	return nil
}

// claimAgainLocked claims the configured addresses as if they had just been added. Without
// ProbeAddrs they stay in use meanwhile. The caller holds configMu.
func (i *iface) claimAgainLocked() {
	if !i.resolvesNeighbours() {
		i.readers[0].requestCheck()
		return
	}
	if tries, addr := i.takeLinkLocalTries(); tries > 0 {
		i.removeConfiguredLocked(addr)
		i.addLinkLocal()
	}
	i.mu.Lock()
	if i.s.cfg.ProbeAddrs {
		i.claimed = nil
	}
	for _, p := range i.configured() {
		i.claims.Withdraw(i.zoned(p.Addr()))
	}
	i.mu.Unlock()
	i.claimAddrs(i.configured())
}

// takeLinkLocalTries returns the link-local address that the stack has made with the number of
// duplicates before it, and has the next one start at zero: another network has other hosts.
func (i *iface) takeLinkLocalTries() (tries byte, addr netip.Addr) {
	i.mu.Lock()
	defer i.mu.Unlock()
	tries, addr = i.linkLocal.tries, i.linkLocal.addr
	i.linkLocal.tries = 0
	return tries, addr
}

// removeConfiguredLocked removes an address from the configured ones, and ends its connections. The
// caller holds configMu.
func (i *iface) removeConfiguredLocked(a netip.Addr) {
	left := slices.DeleteFunc(slices.Clone(i.configured()), func(p netip.Prefix) bool { return p.Addr() == a.WithZone("") })
	i.addrs.Store(&left)
	i.forgetAddr(i.zoned(a))
}

// restartGroups reports all groups to the routers of another network.
func (i *iface) restartGroups() {
	g := &i.groups
	g.mu.Lock()
	defer g.mu.Unlock()
	i.mu.Lock()
	igmp, mld := i.newGroupHosts()
	*g.igmp, *g.mld = *igmp, *mld // readers of the link have the pointers
	i.mu.Unlock()
	for _, group := range g.solicited {
		i.updateGroupLocked(group)
	}
	for group := range g.members {
		i.updateGroupLocked(group)
	}
}
