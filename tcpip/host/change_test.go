package host

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/tcpip"
	"weir/tcpip/link"
)

func prefix(s string) []netip.Prefix { return []netip.Prefix{netip.MustParsePrefix(s)} }

// twoLinks returns a client of a host with the links weir0 and tun1, and their neighbours.
func twoLinks(t *testing.T) (Client, []*tcpip.Stack) {
	t.Helper()
	c, peers := linked(t, []Link{{Name: "weir0", Addrs: prefix("10.0.0.2/24")}, {Name: "tun1", Medium: link.IP, Addrs: prefix("10.1.0.2/24"), Metric: 7}}, Echo(7))
	var all []*tcpip.Stack
	for n, addr := range []string{"10.0.0.1/24", "10.1.0.1/24"} {
		s, err := tcpip.New(tcpip.Config{Link: peers[n], Addrs: prefix(addr)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() }) //nolint:errcheck // the test is over
		all = append(all, s)
	}
	return c, all
}

func TestAClientChangesALink(t *testing.T) {
	c, peers := twoLinks(t)
	ctx := within(t)
	change := LinkChange{Remove: []netip.Addr{netip.MustParseAddr("10.1.0.2")}, Add: prefix("10.1.0.3/24"), MTU: 1200}
	if err := c.ChangeLink(ctx, "tun1", change); err != nil {
		t.Fatal(err)
	}
	if _, err := peers[1].Ping(ctx, netip.MustParseAddr("10.1.0.3"), 1); err != nil {
		t.Errorf("pinging the added address: got error %v, want none", err)
	}
	now, err := c.Status(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	if i := now.Interfaces[1]; i.Name != "tun1" || i.Kind != "tun" || i.MTU != 1200 || i.Metric != 7 || !slices.Equal(i.Addrs, []string{"10.1.0.3/24"}) {
		t.Errorf("got the link %+v, want tun1 with MTU 1200, metric 7 and 10.1.0.3/24", i)
	}
	if !slices.Equal(now.Addrs, []string{"10.0.0.2/24", "10.1.0.3/24"}) || now.Addr != "10.0.0.2/24" || now.Tap != "weir0" {
		t.Errorf("got the addresses %v, %s on %s first; want those of both links, 10.0.0.2/24 on weir0 first", now.Addrs, now.Addr, now.Tap)
	}
}

func TestAWrongChangeIsRejected(t *testing.T) {
	c, _ := twoLinks(t)
	for want, wrong := range map[string]struct {
		link   string
		change LinkChange
	}{
		"name the one to change":        {"", LinkChange{MTU: 1200}},
		"use weir0 or tun1":             {"weir9", LinkChange{MTU: 1200}},
		"of weir0, not of tun1":         {"tun1", LinkChange{Remove: []netip.Addr{netip.MustParseAddr("10.0.0.2")}}},
		"does not have the address":     {"tun1", LinkChange{Remove: []netip.Addr{netip.MustParseAddr("10.1.0.9")}}},
		"has the address 10.0.0.2 alre": {"tun1", LinkChange{Add: prefix("10.0.0.2/24")}},
		"the MTU 9000 for the link":     {"tun1", LinkChange{MTU: 9000}},
	} {
		if err := c.ChangeLink(within(t), wrong.link, wrong.change); err == nil || !strings.HasPrefix(err.Error(), "host: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("changing %q by %+v: got error %v, want one that says %q", wrong.link, wrong.change, err, want)
		}
	}
}

func TestImpairmentsAreOfALinkOrOfAll(t *testing.T) {
	c, _ := twoLinks(t)
	ctx := within(t)
	lose := "loss=100%"
	if now, err := c.Impair(ctx, "tun1", &lose); err != nil || now != lose {
		t.Fatalf("impairing tun1: got %q, error %v; want %q", now, err, lose)
	}
	if now, err := c.Impair(ctx, "", nil); err != nil || now != "weir0: off\ntun1: loss=100%" {
		t.Errorf("got the impairments %q, error %v; want a line for each link", now, err)
	}
	if _, _, err := c.Ping(ctx, "10.0.0.1", 1, waitLimit); err != nil {
		t.Errorf("pinging by weir0: got error %v, want none", err)
	}
	if _, _, err := c.Ping(ctx, "10.1.0.1", 1, 20*time.Millisecond); err == nil {
		t.Error("pinging by tun1, which loses all: got a reply, want none")
	}
	if now, err := c.Impair(ctx, "", &lose); err != nil || now != lose {
		t.Errorf("impairing all links: got %q, error %v; want %q", now, err, lose)
	}
	if _, err := c.Impair(ctx, "weir9", &lose); err == nil || !strings.Contains(err.Error(), "use weir0 or tun1") {
		t.Errorf("impairing weir9: got error %v, want one with the links", err)
	}
}

func TestAnInvalidConfigIsRejected(t *testing.T) {
	good := Link{Name: "weir0", Addrs: prefix("10.0.0.2/24")}
	with := func(change func(*Link)) []Link {
		l := Link{Name: "weir1", Addrs: prefix("10.1.0.2/24")}
		change(&l)
		return []Link{good, l}
	}
	one := []Link{good}
	all := netip.MustParsePrefix("192.0.2.0/24")
	for want, c := range map[string]Config{
		"no link given":             {},
		"no device given":           {Links: with(func(l *Link) { l.Name = "" })},
		"lo is the loopback":        {Links: with(func(l *Link) { l.Name = "lo" })},
		"weir0 is given twice":      {Links: with(func(l *Link) { l.Name = "weir0" })},
		"10.0.0.2 is given twice":   {Links: with(func(l *Link) { l.Addrs = good.Addrs })},
		"no address given for":      {Links: with(func(l *Link) { l.Addrs = nil })},
		"DHCP needs an Ethernet":    {Links: with(func(l *Link) { l.Medium, l.DHCP = link.IP, true })},
		"make the MTU 68 or more":   {Links: with(func(l *Link) { l.MTU = 60 })},
		"make the MTU 1280 or more": {Links: with(func(l *Link) { l.MTU, l.Autoconf = 1000, true })},
		"and the metric 0 or more":  {Links: with(func(l *Link) { l.Metric = -1 })},
		"need Setup":                {Links: with(func(l *Link) { l.Bridge = "eth1" })},
		"both the kernel's address": {Links: with(func(l *Link) { l.Peers = good.Addrs }), Setup: true},
		"no free address for the":   {Links: with(func(l *Link) { l.Addrs = prefix("10.1.0.2/32") }), Setup: true},
		"there is no link weir9":    {Links: one, CaptureLink: "weir9"},
		"the gateway 10.1.0.1 is":   {Links: one, Gateways: []netip.Addr{netip.MustParseAddr("10.1.0.1")}},
		"the gateway fe80::1%weir1": {Links: one, Gateways: []netip.Addr{netip.MustParseAddr("fe80::1%weir1")}},
		"weir9, which is not a lin": {Links: one, Routes: []StaticRoute{{To: all, Link: "weir9"}}},
		"by 10.9.0.1, which is not": {Links: one, Routes: []StaticRoute{{To: all, Via: netip.MustParseAddr("10.9.0.1")}}},
		"same version of IP":        {Links: one, Routes: []StaticRoute{{To: all, Via: netip.MustParseAddr("fe80::1")}}},
	} {
		if err := c.validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want one that says %q", err, want)
		}
	}
	c := Config{Links: with(func(l *Link) { l.Medium = link.IP }), Gateways: []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("fe80::1%weir1")}, Routes: []StaticRoute{{To: all, Link: "weir1"}}}
	if err := c.validate(); err != nil {
		t.Errorf("a valid config: got error %v, want none", err)
	}
}
