package tcpip

import (
	"bytes"
	"io"
	"net/netip"
	"strings"
	"testing"

	"weir/tcpip/link"
)

// A changed MTU holds for the segments of connections that exist, for new ones in both directions,
// and for datagrams.
func TestTheMTUChangesAtRunTime(t *testing.T) {
	joined(t, func(t *testing.T, a, b *Conn, _ func()) {
		for _, mtu := range []int{600, 1500, 68} {
			if err := a.s.SetMTU("", mtu); err != nil {
				t.Fatal(err)
			}
			want := max(mtu-20-20, 88) - 12
			if got := a.Info().MSS; got != want {
				t.Errorf("MTU %d: got an MSS of %d, want %d", mtu, got, want)
			}
			text := bytes.Repeat([]byte{byte(mtu)}, 10_000)
			go a.Write(text) //nolint:errcheck // ReadFull sees it
			got := make([]byte, len(text))
			if _, err := io.ReadFull(b, got); err != nil || !bytes.Equal(got, text) {
				t.Errorf("MTU %d: the peer got other bytes, or %v", mtu, err)
			}
		}
		if err := a.s.SetMTU("link", 600); err != nil {
			t.Fatal(err)
		}
		l, err := b.s.Listen("tcp", ":81")
		if err != nil {
			t.Fatal(err)
		}
		c := dial(t, a.s, "tcp", "10.0.0.2:81")
		d, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if m, n := c.(*Conn).Info().MSS, d.(*Conn).Info().MSS; m != 548 || n != 548 {
			t.Errorf("a new connection: got the MSS %d and %d, want 548 at both ends", m, n)
		}
		if got := a.s.Interfaces()[0].Caps.MTU; got != 600 {
			t.Errorf("got the MTU %d of the interface, want 600", got)
		}
	})
}

func TestInvalidMTUsAreRejected(t *testing.T) {
	l, _ := link.Pair(link.PairConfig{})
	s := stack(t, Config{Link: l, Addrs: prefixes("10.0.0.1/24")})
	for _, c := range []struct {
		name string
		mtu  int
		want string
	}{{"", 67, "68 to 1500"}, {"", 1501, "68 to 1500"}, {"eth7", 1400, `no link has the name "eth7"`}, {"lo", 1400, `no link has the name "lo"`}} {
		if err := s.SetMTU(c.name, c.mtu); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("SetMTU(%q, %d): got %v, want an error with %q", c.name, c.mtu, err, c.want)
		}
	}
	if err := s.AddAddr(netip.MustParsePrefix("fd00::1/64")); err != nil {
		t.Fatal(err)
	}
	if err := s.SetMTU("", 1279); err == nil || !strings.Contains(err.Error(), "1280 to 1500") {
		t.Errorf("an MTU below IPv6's minimum: got %v, want an error that says so", err)
	}
}
