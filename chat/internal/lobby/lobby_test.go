package lobby

import (
	"net/netip"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestNetworkIsTheAddressOrTheIPv6Slash64(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"192.0.2.1", "192.0.2.1", true},
		{"192.0.2.1", "192.0.2.2", false},
		{"192.0.2.1", "::ffff:192.0.2.1", true},
		{"2001:db8::1", "2001:db8:0:0:ffff::2", true},
		{"2001:db8::1", "2001:db8:0:1::1", false},
		{"fe80::1%eth0", "fe80::1", true},
		{"192.0.2.1", "2001:db8::1", false},
	} {
		if same := Network(netip.MustParseAddr(c.a)) == Network(netip.MustParseAddr(c.b)); same != c.same {
			t.Errorf("Network of %s and %s: got equal %v, want the opposite", c.a, c.b, same)
		}
	}
	if Network(netip.Addr{}).IsValid() {
		t.Error("Network of no address: got one, want zero")
	}
}

// A lobby is a list in the order of coming, of which the first goes when there are more than all,
// with at most each of a network.
func TestALobbyIsABoundedLine(t *testing.T) {
	addrs := []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2"), netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")}
	rapid.Check(t, func(t *rapid.T) {
		type one struct {
			n    int
			from netip.Prefix
			*Place[int]
		}
		all, each := rapid.IntRange(1, 8).Draw(t, "all"), rapid.IntRange(1, 4).Draw(t, "each")
		l := New[int](all, each)
		var want []one
		for n := range 60 {
			if rapid.IntRange(0, 2).Draw(t, "leave") == 0 && len(want) > 0 {
				i := rapid.IntRange(0, len(want)-1).Draw(t, "who")
				l.Leave(want[i].Place)
				l.Leave(want[i].Place)
				want = slices.Delete(want, i, i+1)
				continue
			}
			a, free := rapid.SampledFrom(addrs).Draw(t, "from"), rapid.Bool().Draw(t, "free")
			of := 0
			for _, w := range want {
				if w.from == Network(a) {
					of++
				}
			}
			p := l.Enter(a, free, n)
			if (p == nil) != (!free && of >= each) {
				t.Fatalf("with %d of %d of a network: Enter got %v, want the opposite", of, each, p != nil)
			}
			if p != nil {
				want = append(want, one{n, Network(a), p})
			}
			who, crowded := l.EvictOldest()
			if crowded != (len(want) > all) || crowded && who != want[0].n {
				t.Fatalf("with %d of %d: EvictOldest got %d, %v; want the oldest beyond the limit", len(want), all, who, crowded)
			}
			if crowded {
				want = want[1:]
			}
			if l.Len() != len(want) {
				t.Fatalf("Len: got %d, want %d", l.Len(), len(want))
			}
		}
	})
}
