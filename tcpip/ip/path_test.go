package ip

import (
	"net/netip"
	"testing"
	"time"
)

// "A host MUST NOT increase its estimate of the Path MTU in response to the contents of a Datagram
// Too Big message" (RFC 1191, section 3).
func TestWhatWasTooBigMakesNoPathWider(t *testing.T) {
	var p Paths
	dst, now := netip.MustParseAddr("192.0.2.1"), Time(time.Hour)
	for _, told := range []struct{ size, next, mtu int }{
		{1500, 1000, 1000},
		{1500, 1400, 1000}, // an older packet's, or an attacker's
		{1500, 0, 1000},
		{1000, 700, 700},
		{1500, 1492, 700},
	} {
		if mtu := p.TooBig(dst, told.size, told.next, now); mtu != told.mtu {
			t.Errorf("%d was too big, %d is not: %d is taken, want %d", told.size, told.next, mtu, told.mtu)
		}
		if mtu, _ := p.MTU(dst, 1500, now); mtu != told.mtu {
			t.Errorf("%d was too big, %d is not: %d is known, want %d", told.size, told.next, mtu, told.mtu)
		}
	}
	later := now + Time(PathTime)
	if mtu, _ := p.MTU(dst, 1500, later); mtu != 1500 {
		t.Errorf("after its time the path takes %d", mtu)
	}
	if mtu := p.TooBig(dst, 1500, 1400, later); mtu != 1400 {
		t.Errorf("what was known before counts: %d", mtu)
	}
}

// More paths than are remembered do not keep out those that are learnt later.
func TestALaterPathIsRememberedWhenThereAreMany(t *testing.T) {
	var p Paths
	for i := range pathsMost + 64 {
		a := netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)})
		p.TooBig(a, 1500, 1000, Time(i+1))
		if mtu, _ := p.MTU(a, 1500, Time(i+1)); mtu != 1000 || p.Len() > pathsMost {
			t.Fatalf("path %d takes %d bytes, want 1000; %d are remembered", i, mtu, p.Len())
		}
	}
}
