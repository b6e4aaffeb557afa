package multicast

import (
	"net/netip"
	"slices"
)

// MaxSources limits the sources of a filter, so that a record fits in a packet.
const MaxSources = 64

// Filter says from which sources packets for a group are received (RFC 3376, section 2). Of the
// zero value: from none.
type Filter struct {
	Exclude bool         // from all but Sources; otherwise from Sources only
	Sources []netip.Addr // sorted, without duplicates
}

// AnySource is the filter of a member that receives from all sources.
var AnySource = Filter{Exclude: true}

// IsNone reports whether nothing is received: the host is no member.
func (f Filter) IsNone() bool { return !f.Exclude && len(f.Sources) == 0 }

// Admits reports whether packets from a source are received.
func (f Filter) Admits(source netip.Addr) bool {
	return slices.Contains(f.Sources, source) != f.Exclude
}

// equal reports whether two filters are the same.
func (f Filter) equal(o Filter) bool {
	return f.Exclude == o.Exclude && slices.Equal(f.Sources, o.Sources)
}

// Merge returns the filter of an interface whose sockets have the filters (RFC 3376, section 3.2).
// It has no sources if there would be too many: the sockets drop what they do not want.
func Merge(filters []Filter) (all Filter) {
	var included, excluded []netip.Addr
	for _, f := range filters {
		switch {
		case !f.Exclude:
			included = append(included, f.Sources...)
		case !all.Exclude:
			all.Exclude, excluded = true, slices.Clone(f.Sources)
		default:
			excluded = slices.DeleteFunc(excluded, f.Admits)
		}
	}
	if all.Sources = included; all.Exclude {
		all.Sources = slices.DeleteFunc(excluded, func(a netip.Addr) bool { return slices.Contains(included, a) })
	}
	if all.Sources = SortSources(all.Sources); len(all.Sources) > MaxSources {
		return AnySource
	}
	return all
}

// SortSources sorts addresses and removes duplicates, in place. There are few, so that an insertion
// sort does: slices.SortFunc has several times the code.
func SortSources(all []netip.Addr) []netip.Addr {
	sorted := all[:0]
	for _, a := range all {
		at := len(sorted)
		for at > 0 && a.Less(sorted[at-1]) {
			at--
		}
		if at > 0 && sorted[at-1] == a {
			continue
		}
		sorted = append(sorted, a)
		copy(sorted[at+1:], sorted[at:])
		sorted[at] = a
	}
	return sorted
}
