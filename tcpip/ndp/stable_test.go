package ndp

import (
	"net/netip"
	"testing"
)

// RFC 7217, section 5: the address depends on the prefix, the interface, the counter and the key,
// and on nothing else.
func TestStableAddressesDependOnTheirInputsOnly(t *testing.T) {
	prefix := netip.MustParsePrefix("2001:db8::/64")
	a := StableAddr(prefix, "link", 0, []byte("key"))
	if !prefix.Contains(a) || a != StableAddr(netip.MustParsePrefix("2001:db8::7/64"), "link", 0, []byte("key")) {
		t.Errorf("got %v, want the same address in %v at each call", a, prefix)
	}
	for name, b := range map[string]netip.Addr{
		"prefix":    StableAddr(netip.MustParsePrefix("2001:db8:0:1::/64"), "link", 0, []byte("key")),
		"interface": StableAddr(prefix, "lan", 0, []byte("key")),
		"counter":   StableAddr(prefix, "link", 1, []byte("key")),
		"key":       StableAddr(prefix, "link", 0, []byte("other")),
	} {
		x, y := a.As16(), b.As16()
		if [8]byte(x[8:]) == [8]byte(y[8:]) {
			t.Errorf("another %s: got the same identifier, want another", name)
		}
	}
}

// RFC 5453, section 3.
func TestReservedIdentifiersAreNotUsed(t *testing.T) {
	for id, want := range map[[8]byte]bool{
		{}:                                true,
		{2, 0, 0x5e, 0xff, 0xfe, 1, 2, 3}: true,
		{0xfd, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x80}: true,
		{0xfd, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}: false,
		{1}: false,
	} {
		if got := reserved(id); got != want {
			t.Errorf("the identifier % x: got reserved %t, want %t", id, got, want)
		}
	}
}
