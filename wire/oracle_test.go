package wire

import (
	"bytes"
	"net"
	"net/netip"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"pgregory.net/rapid"
)

// gopacket is the oracle: both write the same bytes, and both read the same fields from any bytes.

var serializeOptions = gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}

func serialize(t *rapid.T, all ...gopacket.SerializableLayer) []byte {
	b := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(b, serializeOptions, all...); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

var (
	macs  = rapid.Custom(func(t *rapid.T) MAC { return MAC(rapid.SliceOfN(rapid.Byte(), 6, 6).Draw(t, "mac")) })
	addrs = rapid.Custom(func(t *rapid.T) netip.Addr {
		return netip.AddrFrom4([4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "addr")))
	})
	ports = rapid.Uint16()
	texts = rapid.SliceOfN(rapid.Byte(), 0, 200)
)

func ipOf(a netip.Addr) net.IP { return net.IP(a.AsSlice()) }

func drawIPv4(t *rapid.T, p Protocol) (IPv4Fields, *layers.IPv4) {
	f := IPv4Fields{TOS: rapid.Uint8().Draw(t, "tos"), ID: rapid.Uint16().Draw(t, "id"), TTL: rapid.Uint8().Draw(t, "ttl"), Protocol: p,
		DontFragment: rapid.Bool().Draw(t, "df"), Src: addrs.Draw(t, "src"), Dst: addrs.Draw(t, "dst")}
	l := &layers.IPv4{Version: 4, TOS: f.TOS, Id: f.ID, TTL: f.TTL, Protocol: layers.IPProtocol(p), SrcIP: ipOf(f.Src), DstIP: ipOf(f.Dst)}
	if f.DontFragment {
		l.Flags = layers.IPv4DontFragment
	}
	return f, l
}

// drawTCPOptions draws the options of a SYN or those of another segment.
func drawTCPOptions(t *rapid.T) TCPOptions {
	if rapid.Bool().Draw(t, "syn's options") {
		return TCPOptions{MSS: rapid.Uint16Min(1).Draw(t, "mss"), HasWindowScale: true, WindowScale: rapid.Uint8Range(0, 14).Draw(t, "scale"), SACKPermitted: rapid.Bool().Draw(t, "sack")}
	}
	o := TCPOptions{HasTimestamps: rapid.Bool().Draw(t, "stamped"), SACKCount: rapid.Uint8Range(0, 3).Draw(t, "blocks")}
	if o.HasTimestamps {
		o.TSVal, o.TSEcr = Timestamp(rapid.Uint32().Draw(t, "stamp")), Timestamp(rapid.Uint32().Draw(t, "echo"))
	}
	for i := range o.SACKCount {
		o.SACK[i] = Block{First: Seq(rapid.Uint32().Draw(t, "first")), End: Seq(rapid.Uint32().Draw(t, "end"))}
	}
	return o
}

func TestSegmentsAreWrittenAsTheOracleWritesThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dst, src, text := macs.Draw(t, "to"), macs.Draw(t, "from"), texts.Draw(t, "payload")
		ip, ipLayer := drawIPv4(t, TCPProtocol)
		o := drawTCPOptions(t)
		f := TCPFields{Src: addrPort(ip.Src, ports.Draw(t, "sport")), Dst: addrPort(ip.Dst, ports.Draw(t, "dport")), Seq: Seq(rapid.Uint32().Draw(t, "seq")),
			Ack: Seq(rapid.Uint32().Draw(t, "ack")), Flags: Flags(rapid.Uint8().Draw(t, "flags")), Window: rapid.Uint16().Draw(t, "window"),
			Urgent: rapid.Uint16().Draw(t, "urgent"), Options: o.Append(nil)}
		l := &layers.TCP{SrcPort: layers.TCPPort(f.Src.Port()), DstPort: layers.TCPPort(f.Dst.Port()), Seq: uint32(f.Seq), Ack: uint32(f.Ack), Window: f.Window, Urgent: f.Urgent,
			FIN: f.Flags&FIN != 0, SYN: f.Flags&SYN != 0, RST: f.Flags&RST != 0, PSH: f.Flags&PSH != 0, ACK: f.Flags&ACK != 0, URG: f.Flags&URG != 0, ECE: f.Flags&ECE != 0, CWR: f.Flags&CWR != 0}
		for rest := f.Options; len(rest) > 0; {
			if rest[0] == optionNop {
				l.Options, rest = append(l.Options, layers.TCPOption{OptionType: layers.TCPOptionKindNop, OptionLength: 1}), rest[1:]
				continue
			}
			l.Options, rest = append(l.Options, layers.TCPOption{OptionType: layers.TCPOptionKind(rest[0]), OptionLength: rest[1], OptionData: rest[2:rest[1]]}), rest[rest[1]:]
		}
		if err := l.SetNetworkLayerForChecksum(ipLayer); err != nil {
			t.Fatal(err)
		}
		want := serialize(t, &layers.Ethernet{SrcMAC: src[:], DstMAC: dst[:], EthernetType: layers.EthernetTypeIPv4}, ipLayer, l, gopacket.Payload(text))

		segment := AppendTCP(nil, &f, text)
		ip.Payload = len(segment) + len(text)
		got := append(append(AppendIPv4(AppendEthernet(nil, dst, src, TypeIPv4), &ip), segment...), text...)
		for len(got) < 60 {
			got = append(got, 0) // gopacket pads a frame
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("got  % x\n  want % x", got, want)
		}
	})
}

func TestDatagramsAreWrittenAsTheOracleWritesThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := texts.Draw(t, "payload")
		ip, ipLayer := drawIPv4(t, UDPProtocol)
		src, dst := addrPort(ip.Src, ports.Draw(t, "sport")), addrPort(ip.Dst, ports.Draw(t, "dport"))
		l := &layers.UDP{SrcPort: layers.UDPPort(src.Port()), DstPort: layers.UDPPort(dst.Port())}
		if err := l.SetNetworkLayerForChecksum(ipLayer); err != nil {
			t.Fatal(err)
		}
		want := serialize(t, ipLayer, l, gopacket.Payload(text))
		ip.Payload = UDPHeader + len(text)
		got := append(AppendUDP(AppendIPv4(nil, &ip), src, dst, text), text...)
		if d := UDP(got[IPv4Header:]); [2]byte(d[6:8]) == [2]byte{0xff, 0xff} {
			return // RFC 768: a checksum of zero is sent as ones; gopacket sends zero
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("got  % x\n  want % x", got, want)
		}
	})
}

func TestMessagesAreWrittenAsTheOracleWritesThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind, code, id, number, text := rapid.Uint8().Draw(t, "type"), rapid.Uint8().Draw(t, "code"), ports.Draw(t, "id"), ports.Draw(t, "number"), texts.Draw(t, "body")
		want := serialize(t, &layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(kind, code), Id: id, Seq: number}, gopacket.Payload(text))
		if got := AppendICMP(nil, ICMPType(kind), code, EchoHeader(id, number), text); !bytes.Equal(got, want) {
			t.Fatalf("got  % x\n  want % x", got, want)
		}
		op, a, b, c, d := rapid.Uint16().Draw(t, "operation"), macs.Draw(t, "a"), addrs.Draw(t, "b"), macs.Draw(t, "c"), addrs.Draw(t, "d")
		want = serialize(t, &layers.ARP{AddrType: layers.LinkTypeEthernet, Protocol: layers.EthernetTypeIPv4, HwAddressSize: 6, ProtAddressSize: 4, Operation: op,
			SourceHwAddress: a[:], SourceProtAddress: b.AsSlice(), DstHwAddress: c[:], DstProtAddress: d.AsSlice()})
		if got := AppendARP(nil, ARPOperation(op), a, b, c, d); !bytes.Equal(got, want) {
			t.Fatalf("ARP: got % x\n want % x", got, want)
		}
	})
}

func TestFramesWithTagsAndOptionsAreWrittenAsTheOracleWritesThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dst, src, text := macs.Draw(t, "to"), macs.Draw(t, "from"), rapid.SliceOfN(rapid.Byte(), 60, 200).Draw(t, "payload")
		priority, eligible, network := rapid.IntRange(0, 7).Draw(t, "priority"), rapid.Bool().Draw(t, "eligible"), rapid.IntRange(0, 4095).Draw(t, "network")
		f, l := drawIPv4(t, Protocol(rapid.Uint8().Draw(t, "protocol")))
		f.MoreFragments, f.FragmentOffset, f.Payload = rapid.Bool().Draw(t, "more"), 8*rapid.IntRange(0, 8191).Draw(t, "offset"), len(text)
		l.FragOffset = uint16(f.FragmentOffset / 8)
		if f.MoreFragments {
			l.Flags |= layers.IPv4MoreFragments
		}
		// a pointer and addresses
		if route := rapid.SliceOfN(rapid.Byte(), 0, 36).Draw(t, "route"); len(route)%4 == 1 {
			// one more byte ends the options and completes the word
			f.Options = append([]byte{7, byte(2 + len(route))}, append(route, 0)...)
			l.Options = []layers.IPv4Option{{OptionType: 7, OptionLength: f.Options[1], OptionData: route}, {OptionType: 0, OptionLength: 1}}
		}
		want := serialize(t, &layers.Ethernet{SrcMAC: src[:], DstMAC: dst[:], EthernetType: layers.EthernetTypeDot1Q},
			&layers.Dot1Q{Priority: uint8(priority), DropEligible: eligible, VLANIdentifier: uint16(network), Type: layers.EthernetTypeIPv4}, l, gopacket.Payload(text))
		got := append(AppendIPv4(AppendTagged(nil, dst, src, NewTag(priority, eligible, network), TypeIPv4), &f), text...)
		if !bytes.Equal(got, want) {
			t.Fatalf("got  % x\n  want % x", got, want)
		}
		e, fault := ParseEthernet(want)
		if tag := e.Tag(); fault != OK || e.Type() != TypeIPv4 || tag.Priority() != priority || tag.DropEligible() != eligible || tag.VLANID() != network {
			t.Fatalf("got the tag %x of %v, fault %v; want that of the oracle: priority %d, drop eligible %t, VLAN %d", tag, e.Type(), fault, priority, eligible, network)
		}
		if p, fault := ParseIPv4(e.Payload()); fault != OK || !p.ChecksumOK() || !bytes.Equal(p.Options(), f.Options) || p.MoreFragments() != f.MoreFragments || !bytes.Equal(p.Payload(), text) {
			t.Fatalf("got the packet % x, fault %v; want the options, flags and payload that the oracle wrote", p, fault)
		}
	})
}

// FuzzOracle reads any frame as gopacket does.
func FuzzOracle(f *testing.F) {
	ip := IPv4Fields{TTL: 64, Protocol: TCPProtocol, Src: from, Dst: to, Payload: 20}
	f.Add(AppendTCP(AppendIPv4(AppendEthernet(nil, bob, alice, TypeIPv4), &ip), &TCPFields{Src: addrPort(from, 1), Dst: addrPort(to, 2), Flags: SYN}))
	f.Fuzz(func(t *testing.T, b []byte) {
		p := gopacket.NewPacket(b, layers.LayerTypeEthernet, gopacket.NoCopy)
		e, fault := ParseEthernet(b)
		l, ok := p.Layer(layers.LayerTypeIPv4).(*layers.IPv4)
		// gopacket accepts any version and length zero
		if fault != OK || !ok || e.IsTagged() || l.Version != 4 || [2]byte(e.Payload()[2:]) == [2]byte{} {
			return
		}
		sameIPv4(t, e, p, l)
	})
}

// sameIPv4 compares an IPv4 packet, and its TCP header, with what gopacket read.
func sameIPv4(t *testing.T, e Ethernet, p gopacket.Packet, l *layers.IPv4) {
	v, fault := ParseIPv4(e.Payload())
	if fault != OK {
		if p.ErrorLayer() == nil && !p.Metadata().Truncated && e.Type() == TypeIPv4 {
			t.Errorf("% x: got fault %v, want none, as gopacket finds none", e, fault)
		}
		return
	}
	if v.TOS() != l.TOS || v.ID() != l.Id || v.TTL() != l.TTL || uint8(v.Protocol()) != uint8(l.Protocol) || !ipOf(v.Src()).Equal(l.SrcIP) || !ipOf(v.Dst()).Equal(l.DstIP) ||
		v.FragmentOffset() != int(l.FragOffset)*8 || !bytes.Equal(v.Payload(), l.Payload) {
		t.Errorf("got the packet % x, want the fields that gopacket reads: %+v", v, l)
	}
	tcp, ok := p.Layer(layers.LayerTypeTCP).(*layers.TCP)
	s, fault := ParseTCP(v.Payload())
	if !ok || fault != OK || v.IsFragment() || v.Protocol() != TCPProtocol {
		return
	}
	if s.SrcPort() != uint16(tcp.SrcPort) || s.DstPort() != uint16(tcp.DstPort) || uint32(s.Seq()) != tcp.Seq || uint32(s.Ack()) != tcp.Ack || s.Window() != tcp.Window ||
		s.Urgent() != tcp.Urgent || (s.Flags()&SYN != 0) != tcp.SYN || (s.Flags()&CWR != 0) != tcp.CWR || !bytes.Equal(s.Payload(), tcp.Payload) {
		t.Errorf("got the segment % x, want the fields that gopacket reads: %+v", s, tcp)
	}
}
