package tcpip

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"

	"weir/tcpip/ip"
	"weir/tcpip/neigh"
	"weir/wire"
)

// The methods of this file change the configuration of a running stack. Any goroutine may call
// them. After an error nothing has changed.

// AddAddr gives the stack another address on its first link, with the length of its network. The
// address is probed for as those of Config.Addrs are, without waiting: OnConflict reports another
// host that has it.
func (s *Stack) AddAddr(p netip.Prefix) error { return s.addAddr(0, p, nil) }

// AddAddrOn is AddAddr for the link with that name. Here, and in all methods that configure a link,
// "" is the name of the first one.
func (s *Stack) AddAddrOn(name string, p netip.Prefix) error {
	i, err := s.linkNamed(name)
	if err != nil {
		return err
	}
	return s.addAddr(i.index, p, nil)
}

// linkNamed returns the link with a name; "": the first.
func (s *Stack) linkNamed(name string) (*iface, error) {
	n := s.zoneNumber(name)
	if name == "" {
		n = 1
	}
	if n == 0 || s.ifaces[n-1].loopback {
		return nil, fmt.Errorf("tcpip: no link has the name %q: see Interfaces", name)
	}
	return s.ifaces[n-1], nil
}

// addAddr gives the link with an index another address. A result channel that is not nil gets the
// result of probing for it.
func (s *Stack) addAddr(index int, p netip.Prefix, result chan claimResult) error {
	s.configMu.Lock()
	defer s.configMu.Unlock()
	if err := s.canConfigureLocked(); err != nil {
		return err
	}
	i := s.ifaces[index]
	if !usableAddr(p) {
		return fmt.Errorf("tcpip: no host can have the address %v: use one with the length of its network, such as 10.0.0.2/24", p)
	}
	if i.isConfigured(p.Addr()) || !p.Addr().IsLinkLocalUnicast() && s.isConfigured(p.Addr()) {
		return fmt.Errorf("tcpip: the stack has the address %v already", p.Addr())
	}
	before := i.configured()
	added := i.addConfigured([]netip.Prefix{p})
	if err := s.setRoutesLocked(s.extraRoutes); err != nil {
		i.addrs.Store(&before)
		return err
	}
	if result != nil && i.resolvesNeighbours() {
		i.mu.Lock()
		i.awaited[i.zoned(p.Addr().WithZone(""))] = result
		i.mu.Unlock()
	} else if result != nil {
		result <- claimResult{addr: p.Addr()}
	}
	i.claimAddrs(added)
	return nil
}

// RemoveAddr takes an address from the stack: a link-local one from the link of its zone, or from
// the first. Its connections end with an error that matches ECONNABORTED, and its datagram sockets
// get EADDRNOTAVAIL. Routes by routers that are not neighbours any more are unused until they are
// again.
func (s *Stack) RemoveAddr(a netip.Addr) error {
	s.configMu.Lock()
	defer s.configMu.Unlock()
	if err := s.canConfigureLocked(); err != nil {
		return err
	}
	at := slices.IndexFunc(s.ifaces, func(i *iface) bool {
		return !i.loopback && i.isConfigured(a) && withZone(a, i.name) == s.canonicalAddr(a)
	})
	if at < 0 {
		return fmt.Errorf("tcpip: the stack does not have the address %v", a)
	}
	i := s.ifaces[at]
	i.removeConfiguredLocked(a.WithZone(""))
	s.useRoutesLocked(s.extraRoutes)
	return nil
}

// SetRoutes replaces the routes beside those to the networks of the stack's addresses: see
// Config.Routes.
func (s *Stack) SetRoutes(routes []ip.Route) error {
	s.configMu.Lock()
	defer s.configMu.Unlock()
	if s.closed.Load() {
		return net.ErrClosed
	}
	return s.setRoutesLocked(slices.Clone(routes))
}

// SetResolver replaces the DNS servers: see Config.Resolver. Without any, those that were learned
// from DHCP and from routers are used.
func (s *Stack) SetResolver(servers []netip.AddrPort) error {
	servers, err := checkResolver(servers)
	if err != nil {
		return err
	}
	s.configMu.Lock()
	defer s.configMu.Unlock()
	s.configuredServers = servers
	s.applyServersLocked()
	return nil
}

// SetMTU changes the largest packet that is sent by the link with that name, or by the first if it
// is "": from 68 bytes, or 1,280 if it has IPv6 addresses, to the MTU that the link had when the
// stack started. Connections follow at once; their peers learn of it from new connections only.
func (s *Stack) SetMTU(name string, mtu int) error {
	s.configMu.Lock()
	defer s.configMu.Unlock()
	if err := s.canConfigureLocked(); err != nil {
		return err
	}
	i, err := s.linkNamed(name)
	if err != nil {
		return err
	}
	least := minMTU
	if i.ipv6.Load() {
		least = wire.IPv6MinMTU
	}
	if mtu < least || mtu > i.caps.MTU {
		return fmt.Errorf("tcpip: the MTU %d for the link %s: choose one of %d to %d bytes", mtu, i.name, least, i.caps.MTU)
	}
	i.setMTU(mtu)
	now := s.now()
	for _, c := range s.conns.all() {
		c.mu.Lock()
		if c.iface == i {
			c.updatePathMTULocked(now)
			c.flushLocked(now)
		}
		c.mu.Unlock()
	}
	return nil
}

// canConfigureLocked returns an error if the stack has no addresses that can be changed. The caller
// holds configMu.
func (s *Stack) canConfigureLocked() error {
	switch {
	case s.closed.Load():
		return net.ErrClosed
	case len(s.ifaces) == 1:
		return fmt.Errorf("tcpip: the stack has no link, and so no addresses but the loopback's")
	}
	return nil
}

// claimAddrs starts to claim addresses that were added.
func (i *iface) claimAddrs(added []netip.Prefix) {
	i.updateSolicited() // before the first probe (RFC 4862, section 5.4.2)
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, p := range added {
		if a := i.zoned(p.Addr()); i.resolvesNeighbours() {
			i.claims.Claim(a, i.s.cfg.ProbeAddrs || i.awaited[a] != nil, neigh.Time(i.s.now()), claimActions{i.readers[0]})
		} else {
			i.claimed = append(i.claimed, a)
		}
	}
	i.updateOwnAddrs()
	i.readers[0].requestCheck()
}

// forgetAddr ends the claim to an address, and the connections that have it.
func (i *iface) forgetAddr(a netip.Addr) {
	i.mu.Lock()
	i.claims.Withdraw(a)
	if c := i.awaited[a]; c != nil {
		delete(i.awaited, a)
		close(c)
	}
	i.claimed = slices.DeleteFunc(i.claimed, func(b netip.Addr) bool { return a == b })
	i.updateOwnAddrs()
	i.mu.Unlock()
	i.updateSolicited()
	for _, c := range i.s.conns.all() {
		if c.key.local.Addr() == a {
			c.abortLost(i.s.now())
		}
	}
	for _, u := range i.s.sockets.udpAt(a) {
		u.setError(syscall.EADDRNOTAVAIL)
	}
}

// udpAt returns the UDP sockets with a local address.
func (s *sockets) udpAt(a netip.Addr) (all []*UDPConn) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for local, us := range s.udp {
		if local.Addr() == a {
			all = append(all, us...)
		}
	}
	return all
}
