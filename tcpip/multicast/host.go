package multicast

import (
	"net/netip"
	"time"

	"weir/wire"
)

// Time is a time on the driver's clock, in ns; zero is none.
type Time int64

// Variables of the protocols (RFC 3376, section 8; RFC 3810, section 9), and a limit.
const (
	defaultRobustness = 2 // how often a change is reported
	defaultInterval   = 125 * time.Second
	// the longest interval between the reports of a change: of the newest versions, and of older
	// ones (RFC 2236, section 8.10)
	changeInterval    = time.Second
	oldChangeInterval = 10 * time.Second
	// minimum interval between answers about the same groups
	answerInterval = 100 * time.Millisecond
)

// Config configures a Host.
type Config struct {
	IPv6      bool // MLD instead of IGMP
	MaxReport int  // largest report, in bytes; at least 1,100 for MLD and 300 for IGMP
	// Random returns a random delay of 0 to most.
	Random func(most time.Duration) time.Duration
}

// Host is the state of the groups of a host on a link. It has one owner at a time.
type Host struct {
	cfg        Config
	newest     uint8 // version of the protocol
	version    uint8 // that is spoken now: the oldest that a querier on the link has
	robustness int
	interval   time.Duration // between general queries
	// until when a querier of an older version is present, by version; 0: none
	oldUntil [3]Time

	groups     map[netip.Addr]*group
	answerAt   Time // when to answer a general query; 0: none is pending
	answeredAt Time // when one was last answered
}

// group is the state of one group. It stays while a change is to be reported.
type group struct {
	filter Filter

	// reports left of a change of the filter mode, and of the sources that were added or removed
	modeLeft    int
	sourcesLeft map[netip.Addr]int
	changeAt    Time // when the next one is sent; 0: none

	answerAt     Time         // when to answer a query for the group; 0: none is pending
	answeredAt   Time         // when one was last answered
	asked        []netip.Addr // the query was for these sources; empty: for all
	lastReporter bool         // older versions: no other host has reported it since
}

// New returns the state of a host that belongs to no group.
func New(c Config) *Host {
	h := &Host{cfg: c, newest: 3, robustness: defaultRobustness, interval: defaultInterval, groups: map[netip.Addr]*group{}}
	if c.IPv6 {
		h.newest = 2
	}
	h.version = h.newest
	return h
}

// isReported reports whether a group is reported to routers: not that of all hosts, nor one whose
// packets stay in the host (RFC 3376, section 6; RFC 3810, section 6).
func isReported(group netip.Addr) bool {
	if group.Is4() {
		return group != netip.AddrFrom4([4]byte{224, 0, 0, 1})
	}
	scope := group.As16()[1] & 15
	return group != netip.IPv6LinkLocalAllNodes() && scope > 1
}

// Set sets the filter of a group and reports the change. With a filter that receives nothing, the
// host leaves the group.
func (h *Host) Set(addr netip.Addr, f Filter, now Time, send func(*wire.GroupReport)) {
	g := h.groups[addr]
	if g == nil {
		g = &group{}
	}
	old := g.filter
	if !isReported(addr) || old.equal(f) {
		return
	}
	g.filter = f
	h.groups[addr] = g
	if h.version < h.newest {
		h.changeOld(addr, g, old, now, send)
		return
	}
	h.noteChange(g, old)
	h.sendRecords(h.changeRecords(addr, g, now), send)
}

// changeOld reports a change by an older version, which has no source filters (RFC 2236, section 3;
// RFC 2710, section 4).
func (h *Host) changeOld(addr netip.Addr, g *group, old Filter, now Time, send func(*wire.GroupReport)) {
	switch {
	case g.filter.IsNone():
		delete(h.groups, addr)
		if g.lastReporter && (h.cfg.IPv6 || h.version > 1) {
			send(&wire.GroupReport{Version: h.version, Leave: true, Group: addr})
		}
	case old.IsNone():
		g.modeLeft = h.robustness
		h.reportChangeOld(addr, g, now, send)
	}
}

// reportChangeOld reports by an older version that the host has joined a group.
func (h *Host) reportChangeOld(addr netip.Addr, g *group, now Time, send func(*wire.GroupReport)) {
	g.changeAt, g.lastReporter = 0, true
	if g.modeLeft--; g.modeLeft > 0 {
		g.changeAt = h.after(now, oldChangeInterval)
	}
	send(&wire.GroupReport{Version: h.version, Group: addr})
}

// after returns a random time within most from now.
func (h *Host) after(now Time, most time.Duration) Time { return now + Time(h.cfg.Random(most)) + 1 }

// Receive processes a query. The caller has verified that it is from the link.
func (h *Host) Receive(q *wire.GroupQuery, now Time) {
	if q.Version < h.newest {
		h.oldUntil[q.Version] = now + Time(h.robustness)*Time(h.interval) + Time(q.MaxResponse)
		h.updateVersion(now)
	} else {
		h.robustness, h.interval = int(q.Robustness), q.Interval
		if h.robustness == 0 {
			h.robustness = defaultRobustness
		}
		if h.interval == 0 {
			h.interval = defaultInterval
		}
	}
	at := h.after(now, q.MaxResponse)
	switch {
	case q.Group.IsUnspecified() && h.version == h.newest:
		if h.answerAt == 0 || at < h.answerAt {
			h.answerAt = max(at, h.answeredAt+Time(answerInterval))
		}
	case q.Group.IsUnspecified():
		for _, g := range h.groups {
			g.schedule(nil, h.after(now, q.MaxResponse))
		}
	case h.answerAt != 0 && h.answerAt <= at: // the answer to a general query comes sooner
	case h.groups[q.Group] != nil:
		h.groups[q.Group].schedule(sourcesOf(q), at)
	}
}

// sourcesOf returns the sources of a query; nil: all.
func sourcesOf(q *wire.GroupQuery) (all []netip.Addr) {
	if q.Sources.Len() > MaxSources {
		return nil
	}
	for i := range q.Sources.Len() {
		all = append(all, q.Sources.At(i))
	}
	return all
}

// schedule schedules the answer to a query for a group, together with one that is pending (RFC
// 3376, section 5.2, rules 3 to 5).
func (g *group) schedule(sources []netip.Addr, at Time) {
	at = max(at, g.answeredAt+Time(answerInterval))
	switch {
	case g.filter.IsNone():
		return
	case g.answerAt == 0:
		g.asked = sources
	case len(g.asked) == 0 || len(sources) == 0 || len(g.asked)+len(sources) > MaxSources:
		g.asked = nil
	default:
		g.asked = append(g.asked, sources...)
	}
	if g.answerAt == 0 || at < g.answerAt {
		g.answerAt = at
	}
}

// ReceiveReport processes another host's report of an older version. In that version, it stands for
// the host's own (RFC 2236, section 3; RFC 2710, section 4).
func (h *Host) ReceiveReport(addr netip.Addr) {
	if g := h.groups[addr]; g != nil && h.version < h.newest {
		g.answerAt, g.changeAt, g.modeLeft, g.lastReporter = 0, 0, 0, false
	}
}

// updateVersion speaks the version of the oldest querier that is present. A change of the version
// cancels all that is pending (RFC 3376, section 7.2.1; RFC 3810, section 8.2.1).
func (h *Host) updateVersion(now Time) {
	version := h.newest
	for v := range h.oldUntil {
		if h.oldUntil[v] <= now {
			h.oldUntil[v] = 0
		} else {
			version = min(version, uint8(v))
		}
	}
	if version == h.version {
		return
	}
	h.version, h.answerAt = version, 0
	for addr, g := range h.groups {
		g.modeLeft, g.changeAt, g.answerAt, g.lastReporter = 0, 0, 0, true
		g.sourcesLeft = nil
		if g.filter.IsNone() {
			delete(h.groups, addr)
		}
	}
}

// Tick handles all deadlines, and returns when to call it next; 0: only after another call.
func (h *Host) Tick(now Time, send func(*wire.GroupReport)) (next Time) {
	if next = h.deadline(); next == 0 || next > now {
		return next
	}
	h.updateVersion(now)
	var records []wire.GroupRecord
	general := h.answerAt != 0 && h.answerAt <= now
	if general {
		h.answerAt, h.answeredAt = 0, now
	}
	for _, addr := range h.sorted() {
		g := h.groups[addr]
		if h.version < h.newest {
			h.tickOld(addr, g, now, send)
			continue
		}
		if general && !g.filter.IsNone() {
			records = append(records, currentRecord(addr, g.filter))
		}
		if g.answerAt != 0 && g.answerAt <= now {
			records = append(records, answerRecords(addr, g)...)
			g.answerAt, g.answeredAt, g.asked = 0, now, nil
		}
		if g.changeAt != 0 && g.changeAt <= now {
			records = append(records, h.changeRecords(addr, g, now)...)
		}
	}
	h.sendRecords(records, send)
	return h.deadline()
}

// tickOld handles the deadlines of a group in an older version.
func (h *Host) tickOld(addr netip.Addr, g *group, now Time, send func(*wire.GroupReport)) {
	if g.answerAt != 0 && g.answerAt <= now {
		g.answerAt, g.answeredAt, g.asked, g.lastReporter = 0, now, nil, true
		send(&wire.GroupReport{Version: h.version, Group: addr})
	}
	if g.changeAt != 0 && g.changeAt <= now {
		h.reportChangeOld(addr, g, now, send)
	}
}

// deadline returns the earliest deadline; 0: there is none.
func (h *Host) deadline() (next Time) {
	earlier := func(at Time) {
		if at != 0 && (next == 0 || at < next) {
			next = at
		}
	}
	earlier(h.answerAt)
	for _, until := range h.oldUntil {
		earlier(until)
	}
	for _, g := range h.groups {
		earlier(g.answerAt)
		earlier(g.changeAt)
	}
	return next
}

// sorted returns the groups in the order of their addresses, so that reports do not depend on
// chance.
func (h *Host) sorted() (all []netip.Addr) {
	for addr := range h.groups {
		all = append(all, addr)
	}
	return SortSources(all)
}
