package tcpip

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"time"

	"weir/tcpip/ip"
	"weir/wire"
)

// This file is for protocols that configure a link, as package dhcp does.

// Learned is what a protocol has learned for a link, beside addresses.
type Learned struct {
	// Routes go by the link. A router need not be in one of the networks of the link.
	Routes []ip.Route
	// Servers are DNS servers, the best first. They are used if neither Config.Resolver nor
	// SetResolver has any, before those that routers announce (RFC 8106, section 5.3.1).
	Servers []netip.Addr
}

// learnedFrom is what one protocol has learned for one link.
type learnedFrom struct {
	link     *iface
	protocol string
	Learned
}

// SetLearned replaces what a protocol, with a name of the caller's choice, has learned for the link
// with that name. The zero Learned removes it.
func (s *Stack) SetLearned(link, protocol string, l Learned) error {
	i, err := s.linkNamed(link)
	if err != nil {
		return err
	}
	from := learnedFrom{i, protocol, Learned{slices.Clone(l.Routes), slices.Clone(l.Servers)}}
	for n, r := range from.Routes {
		if r.Via.IsUnspecified() || r.Via.IsMulticast() || r.Via.IsValid() && r.Via.Is4() != r.To.Addr().Is4() {
			return fmt.Errorf("tcpip: the route to %v by %v: the router must have an address of the same version of IP", r.To, r.Via)
		}
		from.Routes[n].Link = i.index
	}
	if _, err := ip.NewRoutes(from.Routes...); err != nil {
		return err
	}
	s.configMu.Lock()
	defer s.configMu.Unlock()
	if err := s.canConfigureLocked(); err != nil {
		return err
	}
	s.learned = slices.DeleteFunc(s.learned, func(o learnedFrom) bool { return o.link == i && o.protocol == protocol })
	if len(l.Routes)+len(l.Servers) > 0 {
		s.learned = append(s.learned, from)
		slices.SortFunc(s.learned, func(a, b learnedFrom) int {
			return cmp.Or(cmp.Compare(a.link.index, b.link.index), cmp.Compare(a.protocol, b.protocol))
		})
	}
	s.useRoutesLocked(s.extraRoutes)
	s.applyServersLocked()
	return nil
}

// learnedRoutesLocked returns the learned routes. The caller holds configMu.
func (s *Stack) learnedRoutesLocked() (all []ip.Route) {
	for _, l := range s.learned {
		all = append(all, l.Routes...)
	}
	return all
}

// applyServersLocked makes the configured DNS servers those of the stack, or without any those that
// were learned and those that routers have announced. The caller holds configMu.
func (s *Stack) applyServersLocked() {
	servers := s.configuredServers
	if len(servers) == 0 {
		servers = s.learnedServersLocked()
	}
	s.resolver.servers.Store(&servers)
}

// learnedServersLocked returns the DNS servers that were learned, without duplicates. The caller
// holds configMu.
func (s *Stack) learnedServersLocked() (all []netip.AddrPort) {
	add := func(i *iface, a netip.Addr) {
		if server := netip.AddrPortFrom(i.zoned(a), 53); !slices.Contains(all, server) {
			all = append(all, server)
		}
	}
	for _, l := range s.learned {
		for _, a := range l.Servers {
			add(l.link, a)
		}
	}
	for _, i := range s.ifaces {
		for _, a := range i.auto.applied.Servers {
			add(i, a)
		}
	}
	return all
}

// NameServers returns the DNS servers that names are resolved by, the best first.
func (s *Stack) NameServers() []netip.AddrPort { return slices.Clone(*s.resolver.servers.Load()) }

// RouterFlags returns the flags of the last router advertisement on the link with that name:
// managed (M), addresses are to be had by DHCPv6; other (O), other configuration is (RFC 4861,
// section 4.2). They are false without Autoconf.
func (s *Stack) RouterFlags(link string) (managed, other bool) {
	i, err := s.linkNamed(link)
	if err != nil {
		return false, false
	}
	s.configMu.Lock()
	defer s.configMu.Unlock()
	return i.auto.applied.Managed, i.auto.applied.Other
}

// ConflictError is the error of ClaimAddr for an address that another host uses.
type ConflictError struct {
	Addr netip.Addr
	By   wire.MAC // the other host
}

// Error implements error.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("tcpip: the address %v is in use by %v: give the stack or that host another address", e.Addr, e.By)
}

// ClaimAddr is AddAddrOn after probing for the address, with or without Config.ProbeAddrs (RFC
// 5227, RFC 4862). It waits for the result, 4 to 7 s, or 1 to 2 for IPv6. If another host has the
// address, the error is a *ConflictError. After an error the stack does not have it.
func (s *Stack) ClaimAddr(ctx context.Context, link string, p netip.Prefix) error {
	i, err := s.linkNamed(link)
	if err != nil {
		return err
	}
	result := make(chan claimResult, 1) // claims -> here: one result
	if err := s.addAddr(i.index, p, result); err != nil {
		return err
	}
	timer := time.NewTimer(claimTimeout)
	defer timer.Stop()
	select {
	case r, ok := <-result:
		switch {
		case !ok:
			return fmt.Errorf("tcpip: the address %v was removed while it was probed for: %w", p.Addr(), syscall.EADDRNOTAVAIL)
		case !r.inUse:
			return nil
		}
		err = &ConflictError{p.Addr(), r.by}
	case <-ctx.Done():
		err = fmt.Errorf("tcpip: probing for %v was interrupted: %w", p.Addr(), context.Cause(ctx))
	case <-timer.C:
		err = fmt.Errorf("tcpip: no probe for %v was sent within 30 s: check that the link is up", p.Addr())
	}
	if s.closed.Load() {
		return net.ErrClosed
	}
	s.RemoveAddr(i.zoned(p.Addr())) //nolint:errcheck // another call has removed it
	return err
}

// watchers are the functions of Watch.
type watchers struct {
	mu  sync.Mutex
	all []*func()
}

// Watch has f called after each change that comes from the network: the announcements of routers,
// and addresses lost to conflicts. A reader's goroutine calls f: it must not block. After stop, f
// may still be called once.
func (s *Stack) Watch(f func()) (stop func()) {
	w := &s.watchers
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, &f)
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.all = slices.DeleteFunc(w.all, func(g *func()) bool { return g == &f })
	}
}

// call calls the functions.
func (w *watchers) call() {
	w.mu.Lock()
	all := slices.Clone(w.all)
	w.mu.Unlock()
	for _, f := range all {
		(*f)()
	}
}
