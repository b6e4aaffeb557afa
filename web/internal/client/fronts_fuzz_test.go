package client_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"weir/web/internal/client"
)

// FuzzClient checks that only trusted proxies are believed: neither an untrusted peer, nor an entry
// before the last one that a trusted proxy has written.
func FuzzClient(f *testing.F) {
	for _, seed := range [][2]string{
		{"192.0.2.1", "1.1.1.1"}, {"10.0.0.1", "6.6.6.6, 1.1.1.1, 10.2.3.4"}, {"10.0.0.1", "unknown, 10.1.1.1"}, {"10.0.0.1", ",,"},
		{"::1", "2001:db8::1\n10.0.0.1"}, {"::ffff:10.0.0.1%eth0", "::ffff:1.1.1.1"}, {"10.0.0.1", "[::1]:80, \"::1\""},
	} {
		f.Add(seed[0], seed[1])
	}
	in, err := client.ParseTrustedProxies([]string{"10.0.0.0/8", "::1", "fd00::/8"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, remote, field string) {
		peer, ok := client.Parse(remote)
		if !ok {
			return
		}
		lines := strings.Split(field, "\n")
		got := in.Client(peer, lines)
		var said []netip.Addr // the zero address for an invalid entry
		for hop := range strings.SplitSeq(strings.Join(lines, ","), ",") {
			a, _ := client.Parse(strings.TrimSpace(hop))
			said = append(said, a)
		}
		switch at := len(said) - 1; {
		case got == peer:
		case !in.Contains(peer):
			t.Fatalf("got client %v, want the peer %v, which is not trusted", got, peer)
		case !slices.Contains(said, got):
			t.Fatalf("got client %v, want one of those named in %q", got, lines)
		default:
			for ; said[at] != got; at-- {
				if !in.Contains(said[at]) {
					t.Fatalf("got client %v, want only trusted entries behind it in %q: %v is not", got, lines, said[at])
				}
			}
		}
		if more := in.Client(peer, append([]string{"6.6.6.6"}, lines...)); !in.Contains(got) && more != got {
			t.Fatalf("%q: got client %v, but %v with an entry in front, want the same", lines, got, more)
		}
		if one := in.Client(peer, []string{strings.Join(lines, ", ")}); one != got {
			t.Fatalf("%q: got client %v as one field, %v as several, want the same", lines, one, got)
		}
	})
}
