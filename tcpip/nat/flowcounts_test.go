package nat

import (
	"encoding/binary"
	"net/netip"
	"testing"
)

// Strangers cannot shut out the hosts on the link, however many addresses they have.
func TestClientsOutsideLeaveHalfOfTheFlows(t *testing.T) {
	f := flowCounts{limit: 100, of: map[netip.Addr]int{}}
	outside := 0
	for i := range 1000 {
		a := netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, 0xc6120000+uint32(i))))
		if f.add(outsideClient(a)) {
			outside++
		}
	}
	if host := netip.MustParseAddr("10.0.2.100"); outside != 50 || !f.add(host) {
		t.Errorf("clients outside have %d of 100 flows, want 50 and room for a host", outside)
	}
}

func TestAnIPv6NetworkOutsideIsOneClient(t *testing.T) {
	a, b, other := netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2"), netip.MustParseAddr("2001:db8:0:1::1")
	if outsideClient(a) != outsideClient(b) || outsideClient(a) == outsideClient(other) {
		t.Errorf("%v, %v and %v: want one client for the first two, and another one", outsideClient(a), outsideClient(b), outsideClient(other))
	}
	if v4 := netip.MustParseAddr("10.0.2.100"); outsideClient(v4) == v4 || outsideClient(v4) != outsideClient(netip.AddrFrom16(v4.As16())) {
		t.Errorf("got %v for %v, want what is no host's, also if it is IPv4-mapped", outsideClient(v4), v4)
	}
}
