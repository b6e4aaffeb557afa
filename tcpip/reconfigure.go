package tcpip

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"

	"weir/tcpip/ip"
	"weir/tcpip/neigh"
)

// The methods of this file change the configuration of a running stack. Any goroutine may call
// them. After an error nothing has changed.

// AddAddr gives the stack another address on its link, with the length of its network. The address
// is probed for as those of Config.Addrs are, without waiting: OnConflict reports another host that
// has it.
func (s *Stack) AddAddr(p netip.Prefix) error {
	s.configMu.Lock()
	defer s.configMu.Unlock()
	i, err := s.configuredLinkLocked()
	if err != nil {
		return err
	}
	if !usableAddr(p) {
		return fmt.Errorf("tcpip: no host can have the address %v: use one with the length of its network, such as 10.0.0.2/24", p)
	}
	if s.isConfigured(p.Addr()) {
		return fmt.Errorf("tcpip: the stack has the address %v already", p.Addr())
	}
	before := i.configured()
	added := i.addConfigured([]netip.Prefix{p})
	if err := s.setRoutesLocked(s.extraRoutes); err != nil {
		i.addrs.Store(&before)
		return err
	}
	i.claimAddrs(added)
	return nil
}

// RemoveAddr takes an address from the stack. Its connections end with an error that matches
// ECONNABORTED, and its datagram sockets get EADDRNOTAVAIL. Routes by routers that are not
// neighbours any more are unused until they are again.
func (s *Stack) RemoveAddr(a netip.Addr) error {
	s.configMu.Lock()
	defer s.configMu.Unlock()
	i, err := s.configuredLinkLocked()
	if err != nil {
		return err
	}
	all := i.configured()
	at := slices.IndexFunc(all, func(p netip.Prefix) bool { return p.Addr() == a.WithZone("") })
	if at < 0 {
		return fmt.Errorf("tcpip: the stack does not have the address %v", a)
	}
	left := slices.Delete(slices.Clone(all), at, at+1)
	i.addrs.Store(&left)
	i.forgetAddr(i.zoned(a.WithZone("")))
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

// SetResolver replaces the DNS servers: see Config.Resolver.
func (s *Stack) SetResolver(servers []netip.AddrPort) error {
	servers, err := checkResolver(servers)
	if err == nil {
		s.resolver.servers.Store(&servers)
	}
	return err
}

// configuredLinkLocked returns the interface whose addresses can be changed. The caller holds
// configMu.
func (s *Stack) configuredLinkLocked() (*iface, error) {
	switch {
	case s.closed.Load():
		return nil, net.ErrClosed
	case s.cfg.Link == nil:
		return nil, fmt.Errorf("tcpip: the stack has no link, and so no addresses but the loopback's")
	}
	return s.ifaces[0], nil
}

// claimAddrs starts to claim addresses that were added.
func (i *iface) claimAddrs(added []netip.Prefix) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, p := range added {
		if a := i.zoned(p.Addr()); i.resolvesNeighbours() {
			i.claims.Claim(a, i.s.cfg.ProbeAddrs, neigh.Time(i.s.now()), claimActions{i.readers[0]})
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
	i.claimed = slices.DeleteFunc(i.claimed, func(b netip.Addr) bool { return a == b })
	i.updateOwnAddrs()
	i.mu.Unlock()
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
