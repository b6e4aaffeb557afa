package tcpip

import (
	"net/netip"
	"slices"
	"time"

	"weir/tcpip/ip"
	"weir/tcpip/ndp"
	"weir/tcpip/neigh"
	"weir/tcpip/tcp"
	"weir/wire"
)

// autoconf is the autoconfiguration of an interface by the routers on its link.
type autoconf struct {
	host    *ndp.Host // guarded by iface.mu; nil: Config.Autoconf is not set
	pending bool      // the state has changed and is to be applied; guarded by iface.mu

	applied ndp.State // guarded by Stack.configMu
}

// startAutoconf starts to solicit routers, if the configuration wants it.
func (i *iface) startAutoconf() {
	if i.loopback || !i.autoconf {
		return
	}
	i.ensureLinkLocal()
	key := i.s.cfg.AddrKey
	if len(key) == 0 {
		key = i.caps.MAC[:]
	}
	jitter := func() time.Duration { return time.Duration(i.s.random.Int64N(int64(time.Second))) }
	i.auto.host = ndp.New(ndp.Config{Interface: i.name, Key: key, LinkMTU: i.caps.MTU, Jitter: jitter,
		Temporary: i.temps, TempLifetimes: i.s.cfg.TempLifetimes, Random: secretNumber}, ndp.Time(i.s.now()))
}

// routerAdvertisement processes a router advertisement (RFC 4861, section 6.1.2).
func (p *packet) routerAdvertisement(m wire.ICMPv6) layer {
	i := p.reader.iface
	a, fault := wire.ParseAdvert(m)
	if fault != wire.OK || !p.src.IsLinkLocalUnicast() {
		return p.drop(DropNDP)
	}
	mac, hasMAC := a.Options.LinkAddr(wire.SourceLinkAddr)
	i.mu.Lock()
	if hasMAC && i.resolvesNeighbours() {
		i.neigh.ReceiveLinkAddr(p.src, mac, true, neigh.Time(p.now), neighActions{p.reader})
		i.neighChanges.Store(i.neigh.Changes)
	}
	if i.auto.host != nil {
		i.neigh.Timers.Set(a.Reachable, a.Retransmit)
		if i.auto.host.Receive(p.src, &a, ndp.Time(p.now)) {
			i.auto.pending = true
			p.reader.requestCheck()
		}
	}
	i.mu.Unlock()
	return consumed
}

// tickAutoconfLocked sends solicitations, and has what is over removed. It returns when it must run
// again; 0: no timer. The caller holds the interface's lock.
func (l *reader) tickAutoconfLocked(now tcp.Time) tcp.Time {
	a := &l.iface.auto
	if a.host == nil {
		return 0
	}
	solicit, changed, next := a.host.Tick(ndp.Time(now))
	a.pending = a.pending || changed
	if solicit {
		l.solicitRouters()
	}
	if l.iface.resolvesNeighbours() {
		changed, at := a.host.UpdateReach(routerNeighbours{l, neigh.Time(now)}, ndp.Time(now))
		a.pending = a.pending || changed
		if at != 0 && (next == 0 || at < next) {
			next = at
		}
	}
	return tcp.Time(next)
}

// routerNeighbours implements ndp.Neighbours. The interface's lock is held during each call.
type routerNeighbours struct {
	l   *reader
	now neigh.Time
}

// Reach implements ndp.Neighbours.
func (r routerNeighbours) Reach(router netip.Addr) ndp.Reach {
	switch s, ok := r.l.iface.neigh.StateOf(router); {
	case !ok || s == neigh.Incomplete:
		return ndp.ReachUnknown
	case s == neigh.Reachable:
		return ndp.ReachConfirmed
	case s == neigh.Failed:
		return ndp.ReachFailed
	}
	return ndp.ReachProbable
}

// UsedSince implements ndp.Neighbours: it reports whether packets were sent to the router.
func (r routerNeighbours) UsedSince(router netip.Addr, since ndp.Time) bool {
	return r.l.iface.neigh.UsedSince(router, neigh.Time(since))
}

// Probe implements ndp.Neighbours.
func (r routerNeighbours) Probe(router netip.Addr) {
	r.l.iface.neigh.Probe(router, r.now, neighActions{r.l})
}

// solicitRouters sends a router solicitation (RFC 4861, section 4.1).
func (l *reader) solicitRouters() {
	src := l.iface.sourceFor(allRouters)
	var options []byte
	if !src.IsValid() {
		src = netip.IPv6Unspecified()
	} else if l.iface.resolvesNeighbours() {
		options = wire.AppendLinkAddr(nil, wire.SourceLinkAddr, l.iface.caps.MAC)
	}
	mac, _ := l.iface.groupMAC(allRouters)
	l.sendNDP(src, allRouters, mac, wire.AppendICMPv6(nil, src, allRouters, wire.RouterSolicit, 0, 0, options))
}

// applyAutoconf makes what the routers have announced the configuration of the stack, if it has
// changed. No lock is held.
func (l *reader) applyAutoconf(now tcp.Time) {
	i := l.iface
	i.mu.Lock()
	pending := i.auto.pending
	i.auto.pending = false
	i.mu.Unlock()
	if !pending {
		return
	}
	defer i.s.watchers.call()
	i.s.configMu.Lock()
	defer i.s.configMu.Unlock()
	i.mu.Lock()
	state := i.auto.host.State(ndp.Time(now))
	i.mu.Unlock()
	i.applyAutoconfLocked(&state)
}

// applyAutoconfLocked makes a state the configuration. The caller holds configMu.
func (i *iface) applyAutoconfLocked(state *ndp.State) {
	i.applyAddrsLocked(state)
	i.auto.applied = *state
	i.mtu6.Store(int32(state.MTU))
	i.hopLimit.Store(uint32(state.HopLimit))
	i.s.useRoutesLocked(i.s.extraRoutes)
	i.s.applyServersLocked()
	i.mu.Lock()
	i.neigh.Changes++ // connections look their next hop up again
	i.neighChanges.Store(i.neigh.Changes)
	i.mu.Unlock()
}

// applyAddrsLocked adds the addresses of a state that are new, and removes those of the state
// before that are over. The caller holds configMu.
func (i *iface) applyAddrsLocked(state *ndp.State) {
	var added []netip.Prefix
	var deprecated, temporary []netip.Addr
	for _, a := range state.Addrs {
		if a.Deprecated {
			deprecated = append(deprecated, a.Addr)
		}
		if a.Temporary {
			temporary = append(temporary, a.Addr)
		}
		if !i.s.isConfigured(a.Addr) {
			added = append(added, netip.PrefixFrom(a.Addr, a.Addr.BitLen()))
		}
	}
	for _, old := range i.auto.applied.Addrs {
		if !slices.ContainsFunc(state.Addrs, func(a ndp.Addr) bool { return a.Addr == old.Addr }) {
			i.removeConfiguredLocked(old.Addr)
		}
	}
	i.mu.Lock()
	i.deprecated, i.temporary = deprecated, temporary
	i.mu.Unlock()
	i.claimAddrs(i.addConfigured(added))
}

// autoRoutesLocked returns the routes that the routers of the interface have announced, with the
// number of the interface. The caller holds configMu.
func (i *iface) autoRoutesLocked(n int) (all []ip.Route) {
	s := &i.auto.applied
	for _, p := range s.Prefixes {
		all = append(all, ip.Route{To: p, Link: n})
	}
	for _, r := range s.Routes {
		all = append(all, ip.Route{To: r.To, Via: r.By, Link: n})
	}
	return all
}

// hopLimit6 is the hop limit of IPv6 packets that do not specify one.
func (i *iface) hopLimit6() uint8 {
	if n := i.hopLimit.Load(); n != 0 {
		return uint8(n)
	}
	return i.s.cfg.TTL
}

// mtuTo is the MTU of the link for packets to dst: routers may announce a smaller one for IPv6.
func (i *iface) mtuTo(dst netip.Addr) int {
	mtu := int(i.mtu.Load())
	if n := int(i.mtu6.Load()); n != 0 && dst.Is6() {
		return min(n, mtu)
	}
	return mtu
}
