package multicast

import (
	"net/netip"
	"slices"

	"weir/wire"
)

// noteChange notes what is to be reported of a change of a group's filter: the filter mode, or the
// sources that were added or removed (RFC 3376, section 5.1). A change of the mode includes pending
// changes of sources.
func (h *Host) noteChange(g *group, old Filter) {
	if g.filter.Exclude != old.Exclude {
		g.modeLeft = h.robustness
		g.sourcesLeft = nil
		return
	}
	if g.sourcesLeft == nil {
		g.sourcesLeft = map[netip.Addr]int{}
	}
	for _, s := range old.Sources {
		if !slices.Contains(g.filter.Sources, s) {
			g.sourcesLeft[s] = h.robustness
		}
	}
	for _, s := range g.filter.Sources {
		if !slices.Contains(old.Sources, s) {
			g.sourcesLeft[s] = h.robustness
		}
	}
}

// changeRecords returns the records of a change, counts them as sent, and schedules the next ones.
// A group that was left is forgotten with the last.
func (h *Host) changeRecords(addr netip.Addr, g *group, now Time) (records []wire.GroupRecord) {
	if g.modeLeft > 0 {
		g.modeLeft--
		kind := wire.ChangeToInclude
		if g.filter.Exclude {
			kind = wire.ChangeToExclude
		}
		records = []wire.GroupRecord{{Kind: kind, Group: addr, Sources: g.filter.Sources}}
	} else {
		records = sourceRecords(addr, g)
	}
	for s := range g.sourcesLeft {
		if g.sourcesLeft[s]--; g.sourcesLeft[s] <= 0 {
			delete(g.sourcesLeft, s)
		}
	}
	switch g.changeAt = 0; {
	case g.modeLeft > 0 || len(g.sourcesLeft) > 0:
		g.changeAt = h.after(now, changeInterval)
	case g.filter.IsNone():
		delete(h.groups, addr)
	}
	return records
}

// sourceRecords returns the records of the sources that were added or removed.
func sourceRecords(addr netip.Addr, g *group) (records []wire.GroupRecord) {
	var allowed, blocked []netip.Addr
	for s := range g.sourcesLeft {
		if g.filter.Admits(s) {
			allowed = append(allowed, s)
		} else {
			blocked = append(blocked, s)
		}
	}
	records = appendRecord(records, wire.AllowNewSources, addr, allowed)
	return appendRecord(records, wire.BlockOldSources, addr, blocked)
}

// appendRecord appends a record, or several if the sources do not fit in one. It has sources.
func appendRecord(records []wire.GroupRecord, kind wire.RecordKind, addr netip.Addr, sources []netip.Addr) []wire.GroupRecord {
	for sources = SortSources(sources); len(sources) > 0; {
		n := min(len(sources), MaxSources)
		records = append(records, wire.GroupRecord{Kind: kind, Group: addr, Sources: sources[:n]})
		sources = sources[n:]
	}
	return records
}

// currentRecord returns the record of the state of a group.
func currentRecord(addr netip.Addr, f Filter) wire.GroupRecord {
	kind := wire.ModeIsInclude
	if f.Exclude {
		kind = wire.ModeIsExclude
	}
	return wire.GroupRecord{Kind: kind, Group: addr, Sources: f.Sources}
}

// answerRecords returns the answer to a query for a group: of a query for sources, those of them
// that the host receives from (RFC 3376, section 5.2).
func answerRecords(addr netip.Addr, g *group) []wire.GroupRecord {
	switch {
	case g.filter.IsNone():
		return nil
	case len(g.asked) == 0:
		return []wire.GroupRecord{currentRecord(addr, g.filter)}
	}
	var admitted []netip.Addr
	for _, s := range g.asked {
		if g.filter.Admits(s) {
			admitted = append(admitted, s)
		}
	}
	return appendRecord(nil, wire.ModeIsInclude, addr, admitted)
}

// sendRecords sends records in as many reports as they need.
func (h *Host) sendRecords(records []wire.GroupRecord, send func(*wire.GroupReport)) {
	size := 0
	r := wire.GroupReport{Version: h.newest}
	for _, one := range records {
		if n := one.Len(); size > 0 && size+n > h.cfg.MaxReport-wire.ICMPHeader {
			send(&r)
			r.Records, size = nil, 0
		}
		r.Records, size = append(r.Records, one), size+one.Len()
	}
	if len(r.Records) > 0 {
		send(&r)
	}
}
