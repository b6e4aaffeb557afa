package ndp

import (
	"net/netip"
	"slices"
	"time"

	"weir/wire"
)

// Time is a time on the driver's clock, in ns; zero is none.
type Time int64

// Limits on what advertisements may announce, and intervals.
const (
	maxRouters  = 16
	maxPrefixes = 32
	maxRoutes   = 32
	maxServers  = 8
	// minHopLimit is the least hop limit that is used: many paths are longer than a forged one
	minHopLimit = 32
	// the first solicitation, and the maximum of the interval between two (RFC 7559, section 2)
	firstInterval = 4 * time.Second
	lastInterval  = time.Hour
	// twoHours is the lifetime below which an advertisement may not shorten that of an address
	// (RFC 4862, section 5.5.3)
	twoHours = 2 * time.Hour
)

// Config configures a Host.
type Config struct {
	Interface string               // name of the interface, of which addresses depend
	Key       []byte               // the host's secret for addresses (RFC 7217)
	LinkMTU   int                  // of the link, in bytes
	Jitter    func() time.Duration // a random delay of 0 to 1 s, before the first solicitation

	// Temporary makes temporary addresses beside the stable ones (RFC 8981). TempLifetimes has no
	// field without a value then. An attacker cannot predict the numbers of Random.
	Temporary     bool
	TempLifetimes TempLifetimes
	Random        func() uint64
}

// Host is the state of autoconfiguration on a link. It has one owner at a time.
type Host struct {
	cfg Config

	solicitAt Time          // when to send the next solicitation; 0: never
	interval  time.Duration // between the last solicitation and the next one

	prefixes []prefix
	addrs    []address
	routes   []route // also the default routes
	servers  []server
	mtu      int
	hopLimit uint8
	managed  bool // the M flag of the last advertisement
	other    bool // its O flag
}

// prefix is a network on the link.
type prefix struct {
	network netip.Prefix
	until   Time
	hearing
}

// address is an address that the host has made.
type address struct {
	addr                       netip.Addr
	network                    netip.Prefix
	tries                      byte // duplicates before it
	preferredUntil, validUntil Time
	hearing

	temps      []temporary // temporary addresses of the same prefix, the oldest first
	tempsEnded bool        // too many were duplicates: there are no further ones
}

// route is a route to other networks by a router; by a default router, to all addresses.
type route struct {
	to         netip.Prefix
	by         netip.Addr
	preference wire.RouterPreference
	until      Time
	reach      reach // of the router
	hearing
}

// allAddrs is the network that default routers lead to.
var allAddrs = netip.PrefixFrom(netip.IPv6Unspecified(), 0)

// server is a DNS server.
type server struct {
	addr  netip.Addr
	until Time
	hearing
}

// forever is the time of an infinite lifetime.
const forever = Time(1<<63 - 1)

// after returns the time when a lifetime that begins now ends.
func after(now Time, lifetime time.Duration) Time {
	if lifetime >= wire.Infinite {
		return forever
	}
	return now + Time(lifetime)
}

// New returns a Host that will send its first solicitation soon: see Tick.
func New(c Config, now Time) *Host {
	return &Host{cfg: c, solicitAt: now + Time(c.Jitter()) + 1}
}

// Restart forgets all that routers have announced, temporary addresses included, and solicits
// routers again: the link leads to another network (RFC 8981, section 3.6).
func (h *Host) Restart(now Time) { *h = *New(h.cfg, now) }

// Receive processes a router advertisement from a router, a link-local address. The caller has
// verified that it is from the link. changed reports whether State returns something else now.
func (h *Host) Receive(from netip.Addr, a *wire.Advert, now Time) (changed bool) {
	before := h.State(now)
	h.solicitAt = 0
	h.managed, h.other = a.Managed, a.Other
	if a.HopLimit >= minHopLimit {
		h.hopLimit = a.HopLimit
	}
	// a default router (RFC 4861, section 6.3.4)
	h.updateRoute(route{allAddrs, from, a.Preference, after(now, a.Lifetime), reach{}, hearing{at: now}}, a.Lifetime)
	for o := range a.Options.All() {
		switch o.Kind() {
		case wire.LinkMTU:
			if mtu := o.MTU(); mtu >= wire.IPv6MinMTU && mtu <= h.cfg.LinkMTU {
				h.mtu = mtu
			}
		case wire.PrefixInfo:
			if p, ok := o.Prefix(); ok {
				h.receivePrefix(&p, now)
			}
		case wire.RouteInfo:
			if r, ok := o.Route(); ok {
				h.updateRoute(route{r.To, from, r.Preference, after(now, r.Lifetime), reach{}, hearing{at: now}}, r.Lifetime)
			}
		case wire.DNSServers:
			if s, ok := o.Servers(); ok {
				h.updateServers(&s, now)
			}
		}
	}
	h.expire(now)
	return !h.State(now).equal(before)
}

// RemoveRouter removes a neighbour that is no router any more from the default routers, and the
// routes by it (RFC 4861, section 7.2.5). It reports whether there was anything to remove.
func (h *Host) RemoveRouter(addr netip.Addr) (changed bool) {
	count := len(h.routes)
	h.routes = slices.DeleteFunc(h.routes, func(r route) bool { return r.by == addr })
	return count != len(h.routes)
}

// updateRoute adds, updates or removes a route (RFC 4191, section 4). It keeps the reachability
// of its router. Default routes come first, so that each kind has its limit.
func (h *Host) updateRoute(new route, lifetime time.Duration) {
	defaults := 0
	for _, r := range h.routes {
		if r.by == new.by {
			new.reach = r.reach
		}
		if r.to == allAddrs {
			defaults++
		}
	}
	first, second := h.routes[:defaults:defaults], slices.Clone(h.routes[defaults:])
	same := func(r route) bool { return r.to == new.to && r.by == new.by }
	if new.to == allAddrs {
		first = upsert(first, new, lifetime, maxRouters, same)
	} else {
		second = upsert(second, new, lifetime, maxRoutes, same)
	}
	h.routes = append(first, second...)
}

// updateServers adds, updates or removes DNS servers (RFC 8106, section 5.3.1).
func (h *Host) updateServers(s *wire.Servers, now Time) {
	for _, a := range s.Addrs {
		if a.IsUnspecified() || a.IsMulticast() || a.IsLoopback() {
			continue
		}
		h.servers = upsert(h.servers, server{a, after(now, s.Lifetime), hearing{at: now}}, s.Lifetime, maxServers, func(x server) bool { return x.addr == a })
	}
}

// receivePrefix processes a prefix (RFC 4861, section 6.3.4; RFC 4862, section 5.5.3).
func (h *Host) receivePrefix(p *wire.Prefix, now Time) {
	if p.Prefix.Addr().IsLinkLocalUnicast() || p.Prefix.Addr().IsMulticast() {
		return
	}
	if p.OnLink {
		h.prefixes = upsert(h.prefixes, prefix{p.Prefix, after(now, p.Valid), hearing{at: now}}, p.Valid, maxPrefixes, func(x prefix) bool { return x.network == p.Prefix })
	}
	if p.Autonomous && p.Preferred <= p.Valid && p.Prefix.Bits() == 64 {
		h.updateAddr(p, now)
	}
}

// updateAddr makes the address of a prefix, or updates its lifetimes.
func (h *Host) updateAddr(p *wire.Prefix, now Time) {
	i := slices.IndexFunc(h.addrs, func(a address) bool { return a.network == p.Prefix })
	if i < 0 {
		if p.Valid > 0 {
			h.addrs = insert(h.addrs, address{addr: StableAddr(p.Prefix, h.cfg.Interface, 0, h.cfg.Key), network: p.Prefix, preferredUntil: after(now, p.Preferred), validUntil: after(now, p.Valid), hearing: hearing{at: now}}, maxPrefixes)
		}
		return
	}
	a := &h.addrs[i]
	a.hearing = hearing{at: now, repeated: a.repeated || now > a.at}
	a.preferredUntil = after(now, p.Preferred)
	switch left := time.Duration(a.validUntil - now); {
	case p.Valid > twoHours || p.Valid > left:
		a.validUntil = after(now, p.Valid)
	case left > twoHours:
		a.validUntil = now + Time(twoHours)
	}
}

// maxTries is how many addresses of a prefix are tried if other hosts have them (RFC 7217, section
// 6).
const maxTries = 3

// Duplicate reports that another host has an address. The next one of its prefix replaces it; after
// three there is none.
func (h *Host) Duplicate(addr netip.Addr, now Time) {
	i := slices.IndexFunc(h.addrs, func(a address) bool { return a.addr == addr })
	switch {
	case i < 0:
		h.duplicateTemp(addr, now)
	case h.addrs[i].tries+1 >= maxTries:
		h.addrs[i].addr = netip.Addr{} // the prefix stays, so that it is not tried again
	default:
		h.addrs[i].tries++
		h.addrs[i].addr = StableAddr(h.addrs[i].network, h.cfg.Interface, h.addrs[i].tries, h.cfg.Key)
	}
}

// Tick handles all deadlines. solicit says that a router solicitation is to be sent now, changed
// that State returns something else. next is when to call Tick again; 0: only after another call.
func (h *Host) Tick(now Time) (solicit, changed bool, next Time) {
	if h.solicitAt != 0 && now >= h.solicitAt {
		solicit = true
		h.interval = min(max(2*h.interval, firstInterval), lastInterval)
		h.solicitAt = now + Time(h.interval)
	}
	changed = h.expire(now)
	next = h.solicitAt
	for at := range h.deadlines {
		if at > now && at != forever && (next == 0 || at < next) {
			next = at
		}
	}
	return solicit, changed, next
}

// expire removes what is over, and reports whether State has changed by that. An address that was
// preferred a moment ago counts.
func (h *Host) expire(now Time) (changed bool) {
	count := len(h.prefixes) + len(h.addrs) + len(h.routes) + len(h.servers)
	h.prefixes = slices.DeleteFunc(h.prefixes, func(p prefix) bool { return p.until <= now })
	h.routes = slices.DeleteFunc(h.routes, func(r route) bool { return r.until <= now })
	h.servers = slices.DeleteFunc(h.servers, func(s server) bool { return s.until <= now })
	h.addrs = slices.DeleteFunc(h.addrs, func(a address) bool { return a.validUntil <= now })
	for i := range h.addrs {
		if a := &h.addrs[i]; a.preferredUntil != 0 && a.preferredUntil <= now {
			a.preferredUntil, changed = 0, true
		}
		changed = h.expireTemps(&h.addrs[i], now) || changed
	}
	return changed || count != len(h.prefixes)+len(h.addrs)+len(h.routes)+len(h.servers)
}

// deadlines yields the times when something is over.
func (h *Host) deadlines(yield func(Time) bool) {
	var all []Time
	for _, p := range h.prefixes {
		all = append(all, p.until)
	}
	for _, a := range h.addrs {
		all = a.appendTempDeadlines(append(all, a.preferredUntil, a.validUntil))
	}
	for _, r := range h.routes {
		all = append(all, r.until)
	}
	for _, s := range h.servers {
		all = append(all, s.until)
	}
	for _, at := range all {
		if !yield(at) {
			return
		}
	}
}

// State is what the routers of a link have announced, and still holds.
type State struct {
	Addrs    []Addr
	Prefixes []netip.Prefix // networks on the link
	Routes   []Route        // to other networks, the best first; those by default routers to ::/0
	Servers  []netip.Addr   // DNS servers
	MTU      int            // 0: that of the link
	HopLimit uint8          // 0: not announced
	// the flags of the last advertisement: addresses, or other configuration, are to be had by
	// DHCPv6 (RFC 4861, section 4.2)
	Managed, Other bool
}

// Addr is an address of the host.
type Addr struct {
	Addr       netip.Addr
	Deprecated bool // new connections should not have it
	Temporary  bool // it is one of RFC 8981, which new connections should rather have
}

// Route is a route by a router on the link.
type Route struct {
	To netip.Prefix
	By netip.Addr
}

// State returns what holds now. Its slices are the caller's.
func (h *Host) State(now Time) State {
	s := State{MTU: h.mtu, HopLimit: h.hopLimit, Managed: h.managed, Other: h.other}
	for _, a := range h.addrs {
		if a.addr.IsValid() && a.validUntil > now {
			s.Addrs = append(s.Addrs, Addr{a.addr, a.preferredUntil <= now, false})
		}
		for _, t := range a.temps {
			if t.validUntil(&a) > now {
				s.Addrs = append(s.Addrs, Addr{t.addr, t.preferredUntil(&a) <= now, true})
			}
		}
	}
	for _, p := range h.prefixes {
		s.Prefixes = append(s.Prefixes, p.network)
	}
	h.appendRoutes(&s)
	for _, x := range h.servers {
		s.Servers = append(s.Servers, x.addr)
	}
	return s
}

// equal reports whether two states say the same.
func (s State) equal(o State) bool {
	return slices.Equal(s.Addrs, o.Addrs) && slices.Equal(s.Prefixes, o.Prefixes) && slices.Equal(s.Routes, o.Routes) &&
		slices.Equal(s.Servers, o.Servers) && s.MTU == o.MTU && s.HopLimit == o.HopLimit && s.Managed == o.Managed && s.Other == o.Other
}
