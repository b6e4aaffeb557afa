package nat

import (
	"context"
	"net"
	"net/netip"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"golang.org/x/net/dns/dnsmessage"

	"weir/tcpip"
	"weir/tcpip/link"
	"weir/wire"
)

// dnsServer answers all questions of a socket by an address, over UDP.
func dnsServer(t *testing.T) netip.AddrPort {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{}) // closed when the server has ended
	go func() {
		defer close(done)
		b := make([]byte, 1500)
		for {
			n, from, err := c.ReadFrom(b)
			if err != nil {
				return
			}
			c.WriteTo(dnsAnswer(b[:n]), from) //nolint:errcheck // the client sees it
		}
	}()
	t.Cleanup(func() { c.Close(); <-done })
	return c.LocalAddr().(*net.UDPAddr).AddrPort()
}

// dnsAnswer answers a question for an IPv4 address by 192.0.2.77, others by nothing.
func dnsAnswer(question []byte) []byte {
	var m dnsmessage.Message
	if m.Unpack(question) != nil || len(m.Questions) != 1 {
		return nil
	}
	m.Response = true
	if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
		m.Answers = []dnsmessage.Resource{{Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 60}, Body: &dnsmessage.AResource{A: [4]byte{192, 0, 2, 77}}}}
	}
	m.Additionals = nil
	b, _ := m.Pack() // its parts were unpacked
	return b
}

// A host learns its address, its route and its name server from router advertisements, and resolves
// names by the gateway.
func TestAHostConfiguresItself(t *testing.T) {
	near, far := link.Pair(link.PairConfig{})
	n, err := New(Config{Link: far, Loopback: here, DNS: []netip.AddrPort{dnsServer(t)}})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	host, err := tcpip.New(tcpip.Config{Link: near, Autoconf: true})
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	to := netip.AddrPortFrom(here[1], startEcho(t, "::1"))
	for {
		c, err := host.DialContext(ctx, "tcp", to.String())
		if err == nil {
			c.Close()
			break
		}
		if ctx.Err() != nil {
			t.Fatalf("the host cannot connect: %v", err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	addrs, err := host.Resolver().LookupNetIP(ctx, "ip4", "any.example.")
	if want := netip.MustParseAddr("192.0.2.77"); err != nil || len(addrs) != 1 || addrs[0].Unmap() != want {
		t.Errorf("got %v and %v, want %v", addrs, err, want)
	}
}

func TestHostsGetAddressesByDHCP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, far := link.Pair(link.PairConfig{MTU: 1400})
		n, err := New(Config{Link: far, DNS: []netip.AddrPort{netip.MustParseAddrPort("192.0.2.53:53")}})
		if err != nil {
			t.Fatal(err)
		}
		defer n.Close()
		ask := func(mac byte, kind dhcpv4.MessageType, more ...dhcpv4.Modifier) *dhcpv4.DHCPv4 {
			m, err := dhcpv4.New(append(more, dhcpv4.WithMessageType(kind), dhcpv4.WithHwAddr(net.HardwareAddr{2, 0, 0, 0, 0, mac}))...)
			if err != nil {
				t.Fatal(err)
			}
			b, _ := n.answerDHCP(m.ToBytes(), n.config.gateway(true), time.Now())
			if b == nil {
				return nil
			}
			answer, err := dhcpv4.FromBytes(b)
			if err != nil {
				t.Fatal(err)
			}
			return answer
		}
		for i, want := range []string{"10.0.2.100", "10.0.2.101", "10.0.2.102"} {
			offer := ask(byte(i), dhcpv4.MessageTypeDiscover)
			if offer.MessageType() != dhcpv4.MessageTypeOffer || offer.YourIPAddr.String() != want || offer.Router()[0].String() != "10.0.2.2" || offer.DNS()[0].String() != "10.0.2.2" || offer.SubnetMask().String() != "ffffff00" {
				t.Errorf("host %d was offered %v, want %s of 10.0.2.2/24", i, offer.Summary(), want)
			}
			ack := ask(byte(i), dhcpv4.MessageTypeRequest, dhcpv4.WithOption(dhcpv4.OptRequestedIPAddress(net.ParseIP(want))))
			if ack.MessageType() != dhcpv4.MessageTypeAck || ack.YourIPAddr.String() != want || ack.IPAddressLeaseTime(0) != leaseTime {
				t.Errorf("host %d: got %v, want %s acknowledged", i, ack.Summary(), want)
			}
		}
		if nak := ask(1, dhcpv4.MessageTypeRequest, dhcpv4.WithOption(dhcpv4.OptRequestedIPAddress(net.ParseIP("10.0.2.9")))); nak.MessageType() != dhcpv4.MessageTypeNak {
			t.Errorf("another address: got %v, want it refused", nak.MessageType())
		}
		if other := ask(1, dhcpv4.MessageTypeRequest, dhcpv4.WithOption(dhcpv4.OptServerIdentifier(net.ParseIP("10.0.2.3")))); other != nil {
			t.Errorf("a request to another server: got %v, want no answer", other.MessageType())
		}
		for i := range 200 { // all addresses are given; then some leases end
			if offer := ask(byte(i), dhcpv4.MessageTypeDiscover); offer != nil {
				ask(byte(i), dhcpv4.MessageTypeRequest, dhcpv4.WithOption(dhcpv4.OptRequestedIPAddress(offer.YourIPAddr)))
			}
		}
		if more := ask(250, dhcpv4.MessageTypeDiscover); more != nil {
			t.Errorf("without a free address: got an offer of %v, want none", more.YourIPAddr)
		}
		time.Sleep(leaseTime + time.Second)
		if more := ask(250, dhcpv4.MessageTypeDiscover); more == nil || more.YourIPAddr.String() != "10.0.2.100" {
			t.Error("when leases have ended, there was no offer of their addresses")
		}
	})
}

func FuzzDHCP(f *testing.F) {
	m, err := dhcpv4.NewDiscovery(net.HardwareAddr{2, 0, 0, 0, 0, 1})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(m.ToBytes())
	c, err := Config{}.withDefaults()
	if err != nil {
		f.Fatal(err)
	}
	near, _ := link.Pair(link.PairConfig{})
	c.Link = near
	n := &NAT{config: c}
	f.Fuzz(func(t *testing.T, message []byte) {
		answer, _ := n.answerDHCP(message, c.gateway(true), time.Unix(1e9, 0))
		if answer == nil {
			return
		}
		a, err := dhcpv4.FromBytes(answer)
		if err != nil || a.OpCode != dhcpv4.OpcodeBootReply {
			t.Errorf("the answer is %x (%v), want a reply", answer, err)
		}
		if given, ok := netip.AddrFromSlice(a.YourIPAddr); ok && !given.IsUnspecified() && !c.gateway(true).Contains(given) {
			t.Errorf("%v was given, want an address of the network", given)
		}
	})
}

// A host without an address asks all others, and the answer goes to all.
func TestAHostWithoutAnAddressIsAnswered(t *testing.T) {
	near, far := link.Pair(link.PairConfig{})
	n, err := New(Config{Link: far})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	defer near.Close()
	mac := near.Caps().MAC
	m, err := dhcpv4.NewDiscovery(net.HardwareAddr(mac[:]))
	if err != nil {
		t.Fatal(err)
	}
	from, to := netip.MustParseAddrPort("0.0.0.0:68"), netip.MustParseAddrPort("255.255.255.255:67")
	payload := m.ToBytes()
	b := wire.AppendEthernet(nil, wire.Broadcast, mac, wire.TypeIPv4)
	b = wire.AppendIPv4(b, &wire.IPv4Fields{TTL: 64, Protocol: wire.UDPProtocol, Src: from.Addr(), Dst: to.Addr(), Payload: wire.UDPHeader + len(payload)})
	b = append(wire.AppendUDP(b, from, to, payload), payload...)
	near.Queue(0).Write(&link.Parts{Head: b})
	var batch [1]link.Frame
	for end := time.Now().Add(waitLimit); time.Now().Before(end); {
		if size, err := near.Queue(0).Read(batch[:], time.Second); err != nil || size == 0 {
			continue
		}
		e, _ := wire.ParseEthernet(batch[0].Bytes)
		v, fault := wire.ParseIPv4(e.Payload())
		if fault != wire.OK || v.Protocol() != wire.UDPProtocol {
			continue // a router advertisement, and what else a stack says when it starts
		}
		d, _ := wire.ParseUDP(v.Payload())
		offer, err := dhcpv4.FromBytes(d.Payload())
		if err != nil || e.Dst() != wire.Broadcast || v.Dst() != to.Addr() || d.DstPort() != 68 || offer.YourIPAddr.String() != "10.0.2.100" {
			t.Errorf("got %v to %v port %d (%v), want an offer of 10.0.2.100 to all", offer, v.Dst(), d.DstPort(), err)
		}
		return
	}
	t.Error("there was no offer")
}

// Queries that wait for a server that does not answer hold no buffer, and long ones are dropped: a
// host may send thousands.
func TestWaitingQueriesHoldLittle(t *testing.T) {
	silent, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	host, n := network(t, link.IP, Config{DNS: []netip.AddrPort{silent.LocalAddr().(*net.UDPAddr).AddrPort()}})
	const queries = 500
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range queries {
		c, err := host.Dial("udp", "10.0.2.2:53")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.Write(make([]byte, 9000))                     //nolint:errcheck // it is dropped
		c.Write([]byte{byte(i), byte(i >> 8), 0, 0, 0}) //nolint:errcheck // a lost one is missed
		b := make([]byte, 100)
		silent.SetReadDeadline(time.Now().Add(waitLimit)) //nolint:errcheck // Read shows it
		if k, _, err := silent.ReadFrom(b); err != nil || k != 5 {
			t.Fatalf("the server got %d bytes and %v, want the short query", k, err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > queries*40<<10 {
		t.Errorf("%d queries hold %d KiB (of %d flows), want less than 40 KiB for each", queries, grown>>10, n.flows.open)
	}
}
