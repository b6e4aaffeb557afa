package dhcp

import (
	"context"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv6"
	"github.com/insomniacslk/dhcp/iana"
	"github.com/insomniacslk/dhcp/rfc1035label"

	"weir/tcpip"
	"weir/tcpip/link"
	"weir/wire"
)

func newInfoMachine() *infoMachine {
	return &infoMachine{mac: testMAC, rand: rand.New(rand.NewPCG(1, 2))}
}

// reply6 returns an answer to a request, with changes.
func reply6(d *dhcpv6.Message, change ...func(*dhcpv6.Message)) []byte {
	r, err := dhcpv6.NewReplyFromMessage(d, dhcpv6.WithServerID(&dhcpv6.DUIDLL{HWType: iana.HWTypeEthernet, LinkLayerAddr: net.HardwareAddr{2, 0, 0, 0, 0, 9}}),
		dhcpv6.WithOption(dhcpv6.OptDNS(net.ParseIP("fd00::53"), net.IPv6zero, net.ParseIP("ff02::1"))),
		dhcpv6.WithOption(dhcpv6.OptDomainSearchList(&rfc1035label.Labels{Labels: []string{"example.org", "no name"}})))
	if err != nil {
		panic(err)
	}
	for _, f := range change {
		f(r)
	}
	return r.ToBytes()
}

// Retransmissions double from about 1 s to about an hour (RFC 8415, sections 7.6 and 15).
func TestInformationRequestsBackOff(t *testing.T) {
	m, now := newInfoMachine(), epoch
	m.setWanted(true, now)
	if first := m.at.Sub(now); first < 0 || first > time.Second {
		t.Errorf("the first message is due after %v, want 0 to 1 s", first)
	}
	now = m.at
	d := m.tick(now)
	want := time.Second
	for n := range 16 {
		gap := m.at.Sub(now)
		if low, high := want*8/10, want*12/10; gap < low || gap > high {
			t.Errorf("retransmission %d is due after %v, want about %v", n+1, gap, want)
		}
		want = min(2*gap, time.Hour)
		now = m.at
		again := m.tick(now)
		if again == nil || again.TransactionID != d.TransactionID || again.Options.ElapsedTime() == 0 {
			t.Fatalf("got %v, want the same transaction, and its elapsed time", again)
		}
	}
	options := d.Options.RequestedOptions()
	if d.MessageType != dhcpv6.MessageTypeInformationRequest || d.Options.ClientID() == nil || !slices.Contains(options, dhcpv6.OptionDNSRecursiveNameServer) || !slices.Contains(options, dhcpv6.OptionInformationRefreshTime) {
		t.Errorf("got %v, want an Information-request with a client ID, which asks for servers and the refresh time", d)
	}
}

// An answer needs a server ID, the client's ID and the transaction (RFC 8415, section 16.10).
func TestRepliesThatDoNotFitAreIgnored(t *testing.T) {
	asking := func() (*infoMachine, *dhcpv6.Message) {
		m := newInfoMachine()
		m.setWanted(true, epoch)
		return m, m.tick(m.at)
	}
	for name, change := range map[string]func(*dhcpv6.Message){
		"transaction": func(d *dhcpv6.Message) { d.TransactionID[0]++ },
		"type":        func(d *dhcpv6.Message) { d.MessageType = dhcpv6.MessageTypeAdvertise },
		"server ID":   func(d *dhcpv6.Message) { d.Options.Del(dhcpv6.OptionServerID) },
		"client ID":   func(d *dhcpv6.Message) { d.Options.Del(dhcpv6.OptionClientID) },
		"other ID":    func(d *dhcpv6.Message) { d.UpdateOption(dhcpv6.OptClientID(&dhcpv6.DUIDEN{EnterpriseNumber: 1})) },
	} {
		m, d := asking()
		if _, ok := m.receive(reply6(d, change), m.at); ok || m.stats.Ignored != 1 {
			t.Errorf("%s: got ok %t and %d ignored, want it ignored", name, ok, m.stats.Ignored)
		}
	}
	m, _ := asking()
	if _, ok := m.receive([]byte{7, 1}, epoch); ok || m.stats.Malformed != 1 {
		t.Errorf("two bytes: got ok %t and %d malformed, want 1", ok, m.stats.Malformed)
	}
	m, d := asking()
	i, ok := m.receive(reply6(d), epoch)
	if !ok || len(i.DNS) != 1 || i.DNS[0].String() != "fd00::53" || strings.Join(i.Search, " ") != "example.org" || i.Refresh != 24*time.Hour {
		t.Errorf("got %+v (%t), want fd00::53, example.org and a day", i, ok)
	}
}

// "Information Refresh Time ... MUST use the default value ... at least IRT_MINIMUM" (RFC 8415,
// section 21.23).
func TestInformationIsRefreshed(t *testing.T) {
	for given, want := range map[time.Duration]time.Duration{0: 10 * time.Minute, time.Hour: time.Hour, refreshMax: 0} {
		m := newInfoMachine()
		m.setWanted(true, epoch)
		d := m.tick(m.at)
		i, ok := m.receive(reply6(d, func(r *dhcpv6.Message) { r.AddOption(dhcpv6.OptInformationRefreshTime(given)) }), epoch)
		if !ok || i.Refresh != want || m.at.IsZero() != (want == 0) {
			t.Errorf("refresh time %v: got %v (%t), want %v", given, i.Refresh, ok, want)
		}
		if want == 0 {
			continue
		}
		if m.tick(m.at) != nil || m.tick(m.at) == nil || m.state != infoAsking {
			t.Errorf("refresh time %v: the client does not ask again after a delay", given)
		}
	}
}

// router answers solicitations by one advertisement with the O flag or without, and
// Information-requests by a server. It runs until the link is closed.
type router struct {
	link  link.Link
	other atomic.Bool
	asked atomic.Int32
}

var (
	routerAddr = netip.MustParseAddr("fe80::99")
	routerMAC  = wire.MAC{2, 0, 0, 0, 0, 0x99}
	allNodes   = netip.MustParseAddr("ff02::1")
)

func (r *router) run() {
	batch := make([]link.Frame, 8)
	for {
		n, err := r.link.Queue(0).Read(batch, -1)
		if err != nil {
			return
		}
		for _, f := range batch[:n] {
			r.receive(f.Bytes)
		}
	}
}

func (r *router) receive(frame []byte) {
	p, fault := wire.ParseIPv6(frame[link.Ethernet.HeaderLen():])
	if fault != wire.OK {
		return
	}
	switch p.NextHeader() {
	case wire.ICMPv6Protocol:
		if m, _ := wire.ParseICMPv6(p.Payload()); m.Type() == wire.RouterSolicit {
			r.advertise()
		}
	case wire.UDPProtocol:
		u, _ := wire.ParseUDP(p.Payload())
		d, err := dhcpv6.MessageFromBytes(u.Payload())
		if err != nil || u.DstPort() != 547 || p.Dst().String() != "ff02::1:2" || !p.Src().IsLinkLocalUnicast() {
			return
		}
		r.asked.Add(1)
		b := reply6(d)
		from, to := netip.AddrPortFrom(routerAddr, 547), netip.AddrPortFrom(p.Src(), 546)
		r.send(wire.MAC(frame[6:12]), to.Addr(), wire.UDPProtocol, 64, append(wire.AppendUDP(nil, from, to, b), b...))
	}
}

func (r *router) advertise() {
	prefix := wire.Prefix{Prefix: netip.MustParsePrefix("2001:db8:5::/64"), OnLink: true, Autonomous: true, Valid: time.Hour * 1000, Preferred: time.Hour * 1000}
	options := wire.AppendServers(wire.AppendPrefix(nil, &prefix), &wire.Servers{Lifetime: 1000 * time.Hour, Addrs: []netip.Addr{netip.MustParseAddr("2001:db8::53")}})
	a := wire.Advert{HopLimit: 64, Lifetime: time.Hour, Other: r.other.Load(), Options: options}
	r.send(wire.MAC{0x33, 0x33, 0, 0, 0, 1}, allNodes, wire.ICMPv6Protocol, wire.NDPHopLimit, wire.AppendAdvert(nil, routerAddr, allNodes, &a))
}

func (r *router) send(mac wire.MAC, dst netip.Addr, protocol wire.Protocol, hops uint8, payload []byte) {
	b := wire.AppendEthernet(nil, mac, routerMAC, wire.TypeIPv6)
	b = wire.AppendIPv6(b, &wire.IPv6Fields{NextHeader: protocol, HopLimit: hops, Src: routerAddr, Dst: dst, Payload: len(payload)})
	r.link.Queue(0).Write(&link.Parts{Head: b, Body: [2][]byte{payload}})
}

// The client asks when a router wants it, asks again a day later, and forgets what it has learned
// when the router does not want it any more. Servers of DHCPv6 precede those of routers.
func TestRoutersStartStatelessDHCP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		la, lb := link.Pair(link.PairConfig{})
		r := &router{link: lb}
		go r.run()
		t.Cleanup(func() { lb.Close() })
		s, err := tcpip.New(tcpip.Config{Link: la, Autoconf: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		c, err := NewStateless(StatelessConfig{Stack: s})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1) // Run's result, one
		go func() { done <- c.Run(ctx) }()
		check := func(when string, asked int32, want string) {
			t.Helper()
			var all []string
			for _, a := range s.NameServers() {
				all = append(all, a.Addr().String())
			}
			if got := strings.Join(all, " "); got != want || r.asked.Load() != asked {
				t.Errorf("%s: got the servers %q after %d requests, want %q after %d", when, got, r.asked.Load(), want, asked)
			}
		}
		time.Sleep(5 * time.Second)
		check("without the flag", 0, "2001:db8::53")
		r.other.Store(true)
		r.advertise()
		time.Sleep(5 * time.Second)
		check("with the flag", 1, "fd00::53 2001:db8::53")
		time.Sleep(25 * time.Hour)
		check("a day later", 2, "fd00::53 2001:db8::53")
		r.other.Store(false)
		r.advertise()
		time.Sleep(time.Second)
		check("without the flag again", 2, "2001:db8::53")
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// FuzzInfo gives a machine that has asked an answer: it does not panic, and what it learns is
// limited to addresses that a server can have.
func FuzzInfo(f *testing.F) {
	m := newInfoMachine()
	m.setWanted(true, epoch)
	f.Add(reply6(m.tick(m.at))[4:])
	f.Fuzz(func(t *testing.T, options []byte) {
		m := newInfoMachine()
		m.setWanted(true, epoch)
		d := m.tick(m.at)
		i, _ := m.receive(append(reply6(d)[:4:4], options...), epoch)
		for _, a := range i.DNS {
			if !a.Is6() || a.IsMulticast() || a.IsUnspecified() {
				t.Errorf("learned the server %v", a)
			}
		}
		if _, err := dhcpv6.MessageFromBytes(d.ToBytes()); err != nil {
			t.Errorf("a request cannot be read: %v", err)
		}
	})
}
