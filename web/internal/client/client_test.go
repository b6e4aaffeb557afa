package client_test

import (
	"net/netip"
	"strings"
	"testing"

	"weir/web/internal/client"
)

func TestNetworkOfAClient(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.1:99":              "192.0.2.1/32",
		"192.0.2.1":                 "192.0.2.1/32",
		"[::ffff:192.0.2.1]:99":     "192.0.2.1/32",
		"[2001:db8:1:2:3:4:5:6]:99": "2001:db8:1:2::/64",
		"2001:db8:1:2:3:4:5:6":      "2001:db8:1:2::/64",
		"[fe80::1%eth0]:99":         "fe80::/64",
		"@":                         "invalid Prefix",
		"":                          "invalid Prefix",
	} {
		if got := client.Network(address).String(); got != want {
			t.Errorf("%q: got %s, want %s", address, got, want)
		}
	}
}

func TestClientIsTheLastUntrustedHop(t *testing.T) {
	fronts, err := client.ParseTrustedProxies([]string{"10.0.0.0/8", "192.0.2.9", "2001:db8::/32"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ peer, forwarded, want string }{
		{"198.51.100.7", "1.2.3.4", "198.51.100.7"}, // not a trusted proxy: its fields do not count
		{"10.0.0.1", "", "10.0.0.1"},
		{"10.0.0.1", "203.0.113.5", "203.0.113.5"},
		// the client itself may have written the entries to the left
		{"10.0.0.1", "6.6.6.6, 203.0.113.5", "203.0.113.5"},
		{"10.0.0.1", "203.0.113.5, 192.0.2.9 ,10.3.3.3", "203.0.113.5"},
		{"10.0.0.1", "10.9.9.9, 10.8.8.8", "10.9.9.9"}, // trusted proxies all the way
		{"10.0.0.1", "203.0.113.5, nonsense", "10.0.0.1"},
		{"10.0.0.1", "nonsense, 10.2.2.2", "10.2.2.2"},
		{"10.0.0.1", "203.0.113.5:4711", "203.0.113.5"},
		{"10.0.0.1", "[2001:db9::5]:4711", "2001:db9::5"},
		{"2001:db8::1", "::ffff:203.0.113.5", "203.0.113.5"},
		{"::ffff:10.0.0.1", "203.0.113.5", "203.0.113.5"},
	} {
		if got := fronts.Client(netip.MustParseAddr(c.peer), strings.Split(c.forwarded, ";")); got.String() != c.want {
			t.Errorf("from %s with X-Forwarded-For %q: got %s, want %s", c.peer, c.forwarded, got, c.want)
		}
	}
}

func TestInvalidTrustedProxyIsRejected(t *testing.T) {
	if _, err := client.ParseTrustedProxies([]string{"10.0.0.0/8", "lb.example.org"}); err == nil || !strings.Contains(err.Error(), `"lb.example.org"`) {
		t.Errorf("got %v, want an error that names lb.example.org", err)
	}
}
