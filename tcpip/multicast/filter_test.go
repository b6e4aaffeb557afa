package multicast

import (
	"net/netip"
	"testing"

	"pgregory.net/rapid"
)

// The merged filter admits what one of the filters admits (RFC 3376, section 3.2).
func TestTheFilterOfAnInterfaceAdmitsWhatASocketWants(t *testing.T) {
	source := rapid.Custom(func(t *rapid.T) netip.Addr {
		return netip.AddrFrom4([4]byte{10, 0, 0, rapid.Byte().Draw(t, "source") % 8})
	})
	filter := rapid.Custom(func(t *rapid.T) Filter {
		return Filter{rapid.Bool().Draw(t, "exclude"), SortSources(rapid.SliceOfN(source, 0, 6).Draw(t, "sources"))}
	})
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(filter, 0, 4).Draw(t, "filters")
		merged := Merge(all)
		for i := range byte(9) {
			a := netip.AddrFrom4([4]byte{10, 0, 0, i})
			want := false
			for _, f := range all {
				want = want || f.Admits(a)
			}
			if merged.Admits(a) != want {
				t.Fatalf("the filters %+v merged to %+v: %v is admitted %t, want %t", all, merged, a, !want, want)
			}
		}
		for i := 1; i < len(merged.Sources); i++ {
			if merged.Sources[i].Compare(merged.Sources[i-1]) <= 0 {
				t.Fatalf("got the sources %v, want them sorted, without duplicates", merged.Sources)
			}
		}
	})
}

func TestFiltersOfTooManySourcesAreMergedToNone(t *testing.T) {
	var all []Filter
	for i := range byte(MaxSources + 1) {
		all = append(all, Filter{Sources: []netip.Addr{netip.AddrFrom4([4]byte{10, 0, 0, i})}})
	}
	if got := Merge(all[:MaxSources]); got.Exclude || len(got.Sources) != MaxSources {
		t.Errorf("got %+v, want all sources included", got)
	}
	if got := Merge(all); !got.equal(AnySource) {
		t.Errorf("got %+v, want any source", got)
	}
}
