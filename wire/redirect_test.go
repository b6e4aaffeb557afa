package wire

import (
	"bytes"
	"net/netip"
	"testing"
)

// RFC 4861, section 8.1.
func TestRedirectsAreValidated(t *testing.T) {
	router, far := netip.MustParseAddr("fe80::1"), netip.MustParseAddr("2001:db8:9::1")
	same := func(b []byte) []byte { return b }
	for _, c := range []struct {
		name        string
		target, dst netip.Addr
		change      func(b []byte) []byte
		want        Fault
	}{
		{"to another router", router, far, same, OK},
		{"to the destination itself", far, far, same, OK},
		{"to another host that is not link-local", netip.MustParseAddr("2001:db8::7"), far, same, WrongField},
		{"of a group", router, netip.MustParseAddr("ff02::5"), same, WrongField},
		{"with a code other than 0", router, far, func(b []byte) []byte { b[1] = 1; return b }, WrongField},
		{"that is too short", router, far, func(b []byte) []byte { return b[:39] }, Short},
		{"with an option of length 0", router, far, func(b []byte) []byte { b[41] = 0; return b }, WrongOption},
		{"with half an option", router, far, func(b []byte) []byte { return b[:44] }, WrongOption},
	} {
		sent := Redirect{c.target, c.dst, AppendLinkAddr(nil, TargetLinkAddr, MAC{2})}
		m, _ := ParseICMPv6(c.change(AppendRedirect(nil, from6, to6, &sent)))
		got, fault := ParseRedirect(m)
		if fault != c.want {
			t.Errorf("a redirect %s: got fault %v, want %v", c.name, fault, c.want)
		}
		if fault == OK && (got.Target != sent.Target || got.Dst != sent.Dst || !bytes.Equal(got.Options, sent.Options)) {
			t.Errorf("a redirect %s: got %+v, want %+v", c.name, got, sent)
		}
	}
}
