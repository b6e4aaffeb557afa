package wire

import (
	"bytes"
	"net/netip"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"pgregory.net/rapid"
)

var (
	from6 = netip.MustParseAddr("2001:db8::1")
	to6   = netip.MustParseAddr("fe80::2")
)

// packet6 returns a packet with what follows its header.
func packet6(next Protocol, rest ...byte) IPv6 {
	return append(AppendIPv6(nil, &IPv6Fields{TrafficClass: 0xb9, FlowLabel: 0xabcde, NextHeader: next, HopLimit: 64, Src: from6, Dst: to6, Payload: len(rest)}), rest...)
}

func TestIPv6FieldsAreRead(t *testing.T) {
	p, fault := ParseIPv6(append(packet6(UDPProtocol, 1, 2, 3), 0, 0))
	if fault != OK || p.TrafficClass() != 0xb9 || p.FlowLabel() != 0xabcde || p.NextHeader() != UDPProtocol || p.HopLimit() != 64 || p.Src() != from6 || p.Dst() != to6 || !bytes.Equal(p.Payload(), []byte{1, 2, 3}) {
		t.Errorf("got % x, fault %v; want the fields that were written, without the padding", p, fault)
	}
}

func TestInvalidIPv6HeadersAreRejected(t *testing.T) {
	for name, c := range map[string]struct {
		b    []byte
		want Fault
	}{
		"a short header":  {packet6(UDPProtocol)[:39], Short},
		"a short payload": {packet6(UDPProtocol, 1, 2)[:41], Short},
		"another version": {AppendIPv4(nil, &IPv4Fields{Src: from, Dst: to, Payload: 20, Options: make([]byte, 20)}), WrongVersion},
		"nothing":         {nil, Short},
	} {
		if _, fault := ParseIPv6(c.b); fault != c.want {
			t.Errorf("%s: got fault %v, want %v", name, fault, c.want)
		}
	}
}

// The rules of RFC 8200, section 4, and the limits of RFC 8504, section 5.3.
func TestExtensionHeadersAreRead(t *testing.T) {
	const tcp, hop, dst, route = byte(TCPProtocol), HopByHop, DestinationOptions, Routing
	many := bytes.Repeat([]byte{byte(dst), 0, 1, 4, 0, 0, 0, 0}, 9)
	for _, c := range []struct {
		name string
		p    IPv6
		want Fault
		// Protocol, NextHeaderAt and RouterAlert; of a fault Problem, ProblemAt, Silent,
		// SilentToGroups
		check Extensions
	}{
		{"none", packet6(TCPProtocol, 9), OK, Extensions{Protocol: TCPProtocol, NextHeaderAt: 6}},
		{"a protocol that is not known", packet6(200), OK, Extensions{Protocol: 200, NextHeaderAt: 6}},
		{"hop-by-hop with padding", packet6(hop, tcp, 0, 1, 4, 0, 0, 0, 0), OK, Extensions{Protocol: TCPProtocol, NextHeaderAt: 40}},
		{"a router alert (RFC 2711)", packet6(hop, tcp, 0, 5, 2, 0, 0, 1, 0), OK, Extensions{Protocol: TCPProtocol, NextHeaderAt: 40, RouterAlert: true}},
		{"hop-by-hop behind another", packet6(dst, byte(hop), 0, 1, 4, 0, 0, 0, 0, tcp, 0, 1, 4, 0, 0, 0, 0), WrongOption, Extensions{Problem: UnknownNextHeader, ProblemAt: 40}},
		{"an option to skip", packet6(dst, tcp, 0, 0x1e, 4, 0, 0, 0, 0), OK, Extensions{Protocol: TCPProtocol, NextHeaderAt: 40}},
		{"an option to drop silently", packet6(dst, tcp, 0, 0x5e, 4, 0, 0, 0, 0), WrongOption, Extensions{Problem: UnknownOption, ProblemAt: 42, Silent: true}},
		{"an option to report", packet6(dst, tcp, 0, 0x9e, 4, 0, 0, 0, 0), WrongOption, Extensions{Problem: UnknownOption, ProblemAt: 42}},
		{"an option to report to one", packet6(dst, tcp, 0, 0, 0xde, 3, 0, 0, 0), WrongOption, Extensions{Problem: UnknownOption, ProblemAt: 43, SilentToGroups: true}},
		{"an option beyond its header", packet6(dst, tcp, 0, 1, 5, 0, 0, 0, 0), WrongOption, Extensions{Problem: ErroneousField, ProblemAt: 42}},
		{"a routing header at its end", packet6(route, tcp, 0, 0, 0, 0, 0, 0, 0), OK, Extensions{Protocol: TCPProtocol, NextHeaderAt: 40}},
		{"routing type 0 (RFC 5095)", packet6(route, tcp, 0, 0, 1, 0, 0, 0, 0), WrongOption, Extensions{Problem: ErroneousField, ProblemAt: 42}},
		{"a header that is cut off", packet6(dst, tcp, 1, 1, 4, 0, 0, 0, 0), Short, Extensions{Silent: true}},
		{"too many headers", packet6(dst, many...), WrongLength, Extensions{Silent: true}},
		{"too many options", packet6(dst, append([]byte{tcp, 5}, append(bytes.Repeat([]byte{0x1e, 0}, 17), 1, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)...)...), WrongLength, Extensions{Silent: true}},
		{"too long", packet6(dst, append([]byte{tcp, 64}, make([]byte, 518)...)...), WrongLength, Extensions{Silent: true}},
		{"a short fragment header", packet6(FragmentHeader, tcp, 0, 0), Short, Extensions{Silent: true}},
	} {
		x, fault := ParseExtensions(c.p)
		if fault != c.want {
			t.Errorf("%s: got fault %v, want %v", c.name, fault, c.want)
			continue
		}
		got := Extensions{Protocol: x.Protocol, NextHeaderAt: x.NextHeaderAt, RouterAlert: x.RouterAlert}
		if fault != OK {
			got = Extensions{Problem: x.Problem, ProblemAt: x.ProblemAt, Silent: x.Silent, SilentToGroups: x.SilentToGroups}
			if x.Silent {
				got.Problem, got.ProblemAt, c.check.Problem, c.check.ProblemAt = 0, 0, 0, 0
			}
		}
		if got.Protocol != c.check.Protocol || got.NextHeaderAt != c.check.NextHeaderAt || got.RouterAlert != c.check.RouterAlert || got.Problem != c.check.Problem || got.ProblemAt != c.check.ProblemAt || got.Silent != c.check.Silent || got.SilentToGroups != c.check.SilentToGroups {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.check)
		}
	}
}

// RFC 7112, section 3: the header chain ends with the header of the upper layer.
func TestUpperLayerIsFoundBehindHeaders(t *testing.T) {
	options := []byte{byte(UDPProtocol), 0, 0x9e, 4, 0, 0, 0, 0}
	for _, c := range []struct {
		name string
		p    IPv6
		want Protocol
		rest int
		ok   bool
	}{
		{"no header", packet6(UDPProtocol, 1, 2, 3), UDPProtocol, 3, true},
		{"an unknown option", packet6(DestinationOptions, append(options, 7)...), UDPProtocol, 1, true},
		{"a first fragment", packet6(FragmentHeader, append(AppendFragment(nil, DestinationOptions, 0, true, 1), append(options, 7)...)...), UDPProtocol, 1, true},
		{"another fragment", packet6(FragmentHeader, append(AppendFragment(nil, UDPProtocol, 8, true, 1), 7)...), UDPProtocol, 0, false},
		{"a header that is cut off", packet6(DestinationOptions, byte(UDPProtocol), 1, 1, 4, 0, 0, 0, 0), DestinationOptions, 0, false},
		{"no header where one should be", packet6(Routing), Routing, 0, false},
	} {
		if p, rest, ok := UpperLayer(c.p.NextHeader(), c.p.Payload()); p != c.want || len(rest) != c.rest || ok != c.ok {
			t.Errorf("%s: got protocol %d, %d bytes (%t), want %d, %d bytes (%t)", c.name, p, len(rest), ok, c.want, c.rest, c.ok)
		}
	}
}

func TestFragmentHeadersAreRead(t *testing.T) {
	x, fault := ParseExtensions(packet6(FragmentHeader, append(AppendFragment(nil, UDPProtocol, 1448, true, 0x01020304), 7)...))
	if fault != OK || x.Fragment.Offset() != 1448 || !x.Fragment.MoreFragments() || x.Fragment.ID() != 0x01020304 || x.Protocol != UDPProtocol || !bytes.Equal(x.Payload, []byte{7}) || x.NextHeaderAt != 40 {
		t.Errorf("got %+v, fault %v; want the fragment that was written", x, fault)
	}
}

var addrs6 = rapid.Custom(func(t *rapid.T) netip.Addr {
	return netip.AddrFrom16([16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "addr")))
})

func TestIPv6SegmentsAreWrittenAsTheOracleWritesThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := texts.Draw(t, "payload")
		ip := IPv6Fields{TrafficClass: rapid.Uint8().Draw(t, "class"), FlowLabel: rapid.Uint32Max(0xfffff).Draw(t, "label"), NextHeader: TCPProtocol, HopLimit: rapid.Uint8().Draw(t, "hops"),
			Src: addrs6.Draw(t, "src"), Dst: addrs6.Draw(t, "dst")}
		l := &layers.IPv6{Version: 6, TrafficClass: ip.TrafficClass, FlowLabel: ip.FlowLabel, NextHeader: layers.IPProtocolTCP, HopLimit: ip.HopLimit, SrcIP: ipOf(ip.Src), DstIP: ipOf(ip.Dst)}
		f := TCPFields{Src: addrPort(ip.Src, ports.Draw(t, "sport")), Dst: addrPort(ip.Dst, ports.Draw(t, "dport")), Seq: Seq(rapid.Uint32().Draw(t, "seq")), Flags: ACK, Window: rapid.Uint16().Draw(t, "window")}
		tcp := &layers.TCP{SrcPort: layers.TCPPort(f.Src.Port()), DstPort: layers.TCPPort(f.Dst.Port()), Seq: uint32(f.Seq), ACK: true, Window: f.Window}
		if err := tcp.SetNetworkLayerForChecksum(l); err != nil {
			t.Fatal(err)
		}
		want := serialize(t, l, tcp, gopacket.Payload(text))
		segment := AppendTCP(nil, &f, text)
		ip.Payload = len(segment) + len(text)
		if got := append(append(AppendIPv6(nil, &ip), segment...), text...); !bytes.Equal(got, want) {
			t.Fatalf("got  % x\n  want % x", got, want)
		}
	})
}

func FuzzIPv6(f *testing.F) {
	f.Add([]byte(packet6(UDPProtocol, 1, 2, 3)))
	f.Add([]byte(packet6(HopByHop, byte(FragmentHeader), 0, 5, 2, 0, 0, 1, 0, byte(UDPProtocol), 0, 0, 9, 1, 2, 3, 4, 5)))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, fault := ParseIPv6(b)
		if fault != OK || len(p) > IPv6Largest {
			return
		}
		again := append(AppendIPv6(nil, &IPv6Fields{TrafficClass: p.TrafficClass(), FlowLabel: p.FlowLabel(), NextHeader: p.NextHeader(), HopLimit: p.HopLimit(), Src: p.Src(), Dst: p.Dst(), Payload: len(p.Payload())}), p.Payload()...)
		if !bytes.Equal(again, p) {
			t.Errorf("% x, parsed and written again: got % x, want the same", p, again)
		}
		x, fault := ParseExtensions(p)
		if x.NextHeaderAt >= len(p) || x.ProblemAt > len(p) || fault == OK && p[x.NextHeaderAt] != byte(x.Protocol) {
			t.Errorf("% x: got %+v, fault %v; want offsets in the packet", p, x, fault)
		}
		protocol, rest, ok := UpperLayer(p.NextHeader(), p.Payload())
		if fault == OK && x.Fragment == nil && (!ok || protocol != x.Protocol || !bytes.Equal(rest, x.Payload)) {
			t.Errorf("% x: got the protocol %d behind the headers (%t), want that of ParseExtensions, %d", p, protocol, ok, x.Protocol)
		}
	})
}
