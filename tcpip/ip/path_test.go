package ip

import (
	"net/netip"
	"testing"
	"time"
)

// "A host MUST NOT increase its estimate of the Path MTU in response to the contents of a Datagram
// Too Big message" (RFC 1191, section 3).
func TestPacketTooBigNeverRaisesThePathMTU(t *testing.T) {
	var p Paths
	dst, now := netip.MustParseAddr("192.0.2.1"), Time(time.Hour)
	for _, report := range []struct{ size, next, mtu int }{
		{1500, 1000, 1000},
		{1500, 1400, 1000}, // about an older packet, or forged
		{1500, 0, 1000},
		{1000, 700, 700},
		{1500, 1492, 700},
	} {
		if mtu := p.TooBig(dst, report.size, report.next, now); mtu != report.mtu {
			t.Errorf("Packet Too Big for %d bytes with MTU %d: TooBig returns %d, want %d", report.size, report.next, mtu, report.mtu)
		}
		if mtu, _ := p.MTU(dst, 1500, now); mtu != report.mtu {
			t.Errorf("Packet Too Big for %d bytes with MTU %d: MTU returns %d, want %d", report.size, report.next, mtu, report.mtu)
		}
	}
	later := now + Time(PathMTUTimeout)
	if mtu, _ := p.MTU(dst, 1500, later); mtu != 1500 {
		t.Errorf("the path MTU is %d after the timeout, want 1500", mtu)
	}
	if mtu := p.TooBig(dst, 1500, 1400, later); mtu != 1400 {
		t.Errorf("an expired path MTU counts: got %d, want 1400", mtu)
	}
}

// A full table still stores a new path.
func TestNewPathIsStoredWhenTheTableIsFull(t *testing.T) {
	var p Paths
	for i := range maxPaths + 64 {
		a := netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)})
		p.TooBig(a, 1500, 1000, Time(i+1))
		if mtu, _ := p.MTU(a, 1500, Time(i+1)); mtu != 1000 || p.Len() > maxPaths {
			t.Fatalf("path %d has MTU %d, want 1000, with at most %[4]d paths; got %[3]d", i, mtu, p.Len(), maxPaths)
		}
	}
}
