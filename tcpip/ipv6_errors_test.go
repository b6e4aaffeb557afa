package tcpip

import (
	"bytes"
	"maps"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"weir/wire"
)

// Parts of packets: an extension header of eight bytes with six of options, and a fragment header.
func extension6(next wire.Protocol, options ...byte) []byte {
	return append([]byte{byte(next), 0}, append(options, []byte{1, 4, 0, 0, 0, 0}[len(options):]...)...)
}

func fragment6(next wire.Protocol, offset int, more bool, payload ...byte) []byte {
	return append(wire.AppendFragment(nil, next, offset, more, 7), payload...)
}

// Options that the stack does not know, with each action (RFC 8200, section 4.2), and padding.
var (
	skipOption     = []byte{0x1e, 4, 0, 0, 0, 0}
	discardOption  = []byte{0x5e, 4, 0, 0, 0, 0}
	reportOption   = []byte{0x9e, 4, 0, 0, 0, 0}
	reportToOne    = []byte{0xde, 4, 0, 0, 0, 0}
	allNodesFrames = wire.MAC{0x33, 0x33, 0, 0, 0, 1}
)

// Packets are answered by an ICMPv6 error with the right pointer, or not at all (RFC 4443, sections
// 2.4 and 3; RFC 8200, sections 4.1 to 4.7; RFC 7112, section 5).
func TestWhichIPv6PacketsAreAnsweredByICMPErrors(t *testing.T) {
	udp, tcp, icmp := wire.UDPProtocol, wire.TCPProtocol, wire.ICMPv6Protocol
	hop, route, frag, options := wire.HopByHop, wire.Routing, wire.FragmentHeader, wire.DestinationOptions
	const bad, next, option, chain = uint8(wire.ErroneousField), uint8(wire.UnknownNextHeader), uint8(wire.UnknownOption), 3
	unreachable, problem := wire.Unreachable6, wire.ParameterProblem6
	datagram := datagram6To(stackAddr6, 9)
	group := wire.IPv6Fields{Dst: allNodes}
	with := func(headers ...[]byte) []byte { return bytes.Join(headers, nil) }
	from := func(a string) wire.IPv6Fields { return wire.IPv6Fields{Src: netip.MustParseAddr(a)} }
	anError := wire.AppendICMPv6(nil, bareAddr6, stackAddr6, wire.Unreachable6, 0, 0, make([]byte, 48))
	for _, c := range []struct {
		name    string
		f       wire.IPv6Fields
		to      wire.MAC // zero: the stack's
		next    wire.Protocol
		payload []byte
		kind    wire.ICMPv6Type // 0: silence
		code    uint8
		pointer uint32
		why     Drop
	}{
		{name: "a datagram for a closed port", next: udp, payload: datagram, kind: unreachable, code: wire.PortUnreachable6, why: DropUDPPort},
		{name: "the same at its last hop", f: wire.IPv6Fields{HopLimit: 1}, next: udp, payload: datagram, kind: unreachable, code: wire.PortUnreachable6, why: DropUDPPort},
		{name: "the same to a group", f: group, to: allNodesFrames, next: udp, payload: datagram6To(allNodes, 9), why: DropUDPPort},
		{name: "the same in a frame to a group", to: allNodesFrames, next: udp, payload: datagram, why: DropUDPPort},

		{name: "an unknown next header", next: 99, payload: make([]byte, 8), kind: problem, code: next, pointer: 6, why: DropProtocol},
		{name: "an unknown next header in an option header", next: options, payload: with(extension6(99), make([]byte, 8)), kind: problem, code: next, pointer: 40, why: DropProtocol},
		{name: "an unknown next header to a group", f: group, to: allNodesFrames, next: 99, payload: make([]byte, 8), why: DropProtocol},
		{name: "no next header (RFC 8200, section 4.7)", next: wire.NoNextHeader, why: DropProtocol},
		{name: "no next header with octets behind it", next: options, payload: with(extension6(wire.NoNextHeader), make([]byte, 8)), why: DropProtocol},

		{name: "an option to skip", next: options, payload: with(extension6(udp, skipOption...), datagram), kind: unreachable, code: wire.PortUnreachable6, why: DropUDPPort},
		{name: "an option to discard", next: options, payload: with(extension6(udp, discardOption...), datagram), why: DropOptions},
		{name: "an option to report", next: hop, payload: with(extension6(udp, reportOption...), datagram), kind: problem, code: option, pointer: 42, why: DropOptions},
		{name: "an option to report, in the second header", next: hop, payload: with(extension6(options), extension6(udp, reportOption...), datagram), kind: problem, code: option, pointer: 50, why: DropOptions},
		{name: "an option to report, to a group", f: group, to: allNodesFrames, next: options, payload: with(extension6(udp, reportOption...), datagram), kind: problem, code: option, pointer: 42, why: DropOptions},
		{name: "an option to report to one, to one", next: options, payload: with(extension6(udp, reportToOne...), datagram), kind: problem, code: option, pointer: 42, why: DropOptions},
		{name: "an option to report to one, to a group", f: group, to: allNodesFrames, next: options, payload: with(extension6(udp, reportToOne...), datagram), why: DropOptions},
		{name: "an option beyond its header", next: options, payload: with(extension6(udp, 1, 5), datagram), kind: problem, code: bad, pointer: 42, why: DropOptions},
		{name: "an option beyond its header, to a group", f: group, to: allNodesFrames, next: options, payload: with(extension6(udp, 1, 5), datagram), why: DropOptions},
		{name: "hop-by-hop options behind others", next: options, payload: with(extension6(hop), extension6(udp), datagram), kind: problem, code: next, pointer: 40, why: DropOptions},
		{name: "an unknown routing type at its end", next: route, payload: with(extension6(udp, 99, 0, 0, 0, 0, 0), datagram), kind: unreachable, code: wire.PortUnreachable6, why: DropUDPPort},
		{name: "an unknown routing type with segments left", next: route, payload: with(extension6(udp, 99, 1, 0, 0, 0, 0), datagram), kind: problem, code: bad, pointer: 42, why: DropOptions},
		{name: "routing type 0 (RFC 5095)", next: route, payload: with(extension6(udp, 0, 1, 0, 0, 0, 0), datagram), kind: problem, code: bad, pointer: 42, why: DropOptions},
		{name: "a header that is cut off", next: options, payload: []byte{byte(udp), 1, 1, 4, 0, 0, 0, 0}, why: DropOptions},
		{name: "nine headers", next: options, payload: with(bytes.Repeat(extension6(options), 8), extension6(udp), datagram), why: DropOptions},

		{name: "an error", next: icmp, payload: anError, why: DropICMP},
		{name: "an error behind an option to report", next: options, payload: with(extension6(icmp, reportOption...), anError), why: DropOptions},
		{name: "an error behind two headers, the first with an option to report", next: hop, payload: with(extension6(options, reportOption...), extension6(icmp), anError), why: DropOptions},
		{name: "an echo behind an option to report", next: options, payload: with(extension6(icmp, reportOption...), wire.AppendICMPv6(nil, bareAddr6, stackAddr6, wire.EchoRequest6, 0, 0, nil)), kind: problem, code: option, pointer: 42, why: DropOptions},
		{name: "an unknown error", next: icmp, payload: wire.AppendICMPv6(nil, bareAddr6, stackAddr6, 99, 0, 0, make([]byte, 48)), why: DropICMP},
		{name: "an unknown message", next: icmp, payload: wire.AppendICMPv6(nil, bareAddr6, stackAddr6, 200, 0, 0, nil), why: DropICMP},
		{name: "an echo to a group", f: group, to: allNodesFrames, next: icmp, payload: wire.AppendICMPv6(nil, bareAddr6, allNodes, wire.EchoRequest6, 0, 0, nil), why: DropICMP},

		{name: "for another host", f: wire.IPv6Fields{Dst: netip.MustParseAddr("2001:db8::8")}, next: 99, payload: make([]byte, 8), why: DropNotOurs},
		{name: "for the loopback", f: wire.IPv6Fields{Dst: netip.MustParseAddr("::1")}, next: 99, payload: make([]byte, 8), why: DropNotOurs},
		{name: "from the stack's own address", f: from("2001:db8::1"), next: 99, payload: make([]byte, 8), why: DropSource},
		{name: "from the loopback", f: from("::1"), next: 99, payload: make([]byte, 8), why: DropSource},
		{name: "from a group", f: from("ff02::1"), next: 99, payload: make([]byte, 8), why: DropSource},
		{name: "from an IPv4-mapped address", f: from("::ffff:10.0.0.9"), next: 99, payload: make([]byte, 8), why: DropSource},
		{name: "from the unspecified address", f: from("::"), next: 99, payload: make([]byte, 8), why: DropProtocol},

		{name: "a fragment of 12 bytes", next: frag, payload: fragment6(udp, 0, true, make([]byte, 12)...), kind: problem, code: bad, pointer: 4, why: DropFragment},
		{name: "a fragment of 12 bytes in the middle", next: frag, payload: fragment6(udp, 64, true, make([]byte, 12)...), kind: problem, code: bad, pointer: 4, why: DropFragment},
		{name: "a fragment of 12 bytes to a group", f: group, to: allNodesFrames, next: frag, payload: fragment6(udp, 0, true, make([]byte, 12)...), why: DropFragment},
		{name: "a fragment beyond 65,535 bytes", next: frag, payload: fragment6(udp, 65528, false, make([]byte, 8)...), kind: problem, code: bad, pointer: 42, why: DropFragment},
		{name: "a fragment beyond 65,535 bytes with its headers", next: options, payload: with(extension6(frag), fragment6(udp, 65520, false, make([]byte, 8)...)), kind: problem, code: bad, pointer: 50, why: DropFragment},
		{name: "an empty fragment", next: frag, payload: fragment6(udp, 64, true), why: DropFragment},
		{name: "a first fragment that ends in an option header", next: frag, payload: fragment6(options, 0, true, []byte{byte(udp), 1, 1, 4, 0, 0, 0, 0}...), kind: problem, code: chain, why: DropFragment},
		{name: "a first fragment that ends behind an option header", next: frag, payload: fragment6(options, 0, true, extension6(udp)...), kind: problem, code: chain, why: DropFragment},
		{name: "a first fragment with a part of the TCP header", next: frag, payload: fragment6(tcp, 0, true, make([]byte, 16)...), kind: problem, code: chain, why: DropFragment},
		{name: "a first fragment with a part of the TCP options", next: frag, payload: fragment6(tcp, 0, true, append([]byte{12: 0xf0}, make([]byte, 11)...)...), kind: problem, code: chain, why: DropFragment},
		{name: "a first fragment without the header chain to a group", f: group, to: allNodesFrames, next: frag, payload: fragment6(options, 0, true, extension6(udp)...), why: DropFragment},
		{name: "an atomic fragment with an option to report", next: frag, payload: with(fragment6(options, 0, false, extension6(udp, reportOption...)...), datagram), kind: problem, code: option, pointer: 42, why: DropOptions},
		{name: "an atomic fragment with an unknown next header", next: frag, payload: fragment6(99, 0, false, make([]byte, 8)...), kind: problem, code: next, pointer: 6, why: DropProtocol},
		{name: "a fragment header behind another", next: frag, payload: with(fragment6(frag, 0, false), fragment6(udp, 0, false, datagram...)), why: DropOptions},
		{name: "a fragment header that is cut off", next: frag, payload: []byte{byte(udp), 0, 0, 0}, why: DropOptions},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, h := bare6(t, Config{})
				h.next(5 * time.Second) // duplicate address detection
				c.f.NextHeader = c.next
				h.send(c.to, c.f, c.payload)
				v := h.next(5 * time.Second)
				if got := h.drops(); !maps.Equal(got, map[Drop]uint64{c.why: 1}) {
					t.Errorf("got drops %v, want one for %v", got, c.why)
				}
				if c.kind == 0 {
					if v != nil {
						t.Errorf("got the answer % x, want none", []byte(v))
					}
					return
				}
				m := icmp6Of(t, v)
				if m.Type() != c.kind || m.Code() != c.code || m.RestOfHeader() != c.pointer || v.Src() != stackAddr6 || v.HopLimit() != 64 {
					t.Errorf("got the ICMPv6 error %d, %d, pointer %d from %v; want %d, %d, %d", m.Type(), m.Code(), m.RestOfHeader(), v.Src(), c.kind, c.code, c.pointer)
				}
				if about := wire.IPv6(m.Body()); len(about) < wire.IPv6Header || about.Src() != bareAddr6 || !bytes.HasSuffix(c.payload, about[len(about)-8:]) {
					t.Errorf("the error quotes % x, want the packet", []byte(about))
				}
			})
		})
	}
}

// A packet whose fragments do not all arrive causes a Time Exceeded after 60 s, if the first of
// them has arrived and it was for no group (RFC 8200, section 4.5; RFC 4443, section 2.4 (e.3)).
func TestIPv6ReassemblyTimesOut(t *testing.T) {
	for _, c := range []struct {
		dst      netip.Addr
		to       wire.MAC
		offset   int
		reported bool
	}{{stackAddr6, wire.MAC{}, 0, true}, {stackAddr6, wire.MAC{}, 8, false}, {allNodes, allNodesFrames, 0, false}} {
		synctest.Test(t, func(t *testing.T) {
			_, h := bare6(t, Config{})
			h.next(5 * time.Second) // duplicate address detection
			began := time.Now()
			h.send(c.to, wire.IPv6Fields{NextHeader: wire.FragmentHeader, Dst: c.dst}, fragment6(wire.UDPProtocol, c.offset, true, make([]byte, 16)...))
			v := h.next(2 * time.Minute)
			if (v != nil) != c.reported {
				t.Fatalf("a fragment for %v from offset %d: got an ICMPv6 error: %t, want %t", c.dst, c.offset, v != nil, c.reported)
			}
			if !c.reported {
				return
			}
			if m := icmp6Of(t, v); m.Type() != wire.TimeExceeded6 || m.Code() != wire.ReassemblyExceeded {
				t.Errorf("got ICMPv6 type %d, code %d, want time exceeded in reassembly", m.Type(), m.Code())
			}
			if took := time.Since(began); took < 60*time.Second || took > 61*time.Second {
				t.Errorf("the error came after %v, want 60 s", took)
			}
		})
	}
}

// RFC 4443, section 2.4 (f): the rate of ICMPv6 errors is limited, of each kind.
func TestICMPv6ErrorsAreRateLimited(t *testing.T) {
	for name, c := range map[string]struct {
		f       wire.IPv6Fields
		to      wire.MAC
		payload []byte
	}{
		"a closed port":            {wire.IPv6Fields{NextHeader: wire.UDPProtocol}, wire.MAC{}, datagram6To(stackAddr6, 9)},
		"an unknown next header":   {wire.IPv6Fields{NextHeader: 99}, wire.MAC{}, make([]byte, 8)},
		"an unknown option":        {wire.IPv6Fields{NextHeader: wire.HopByHop}, wire.MAC{}, extension6(wire.NoNextHeader, reportOption...)},
		"an option to a group":     {wire.IPv6Fields{NextHeader: wire.HopByHop, Dst: allNodes}, allNodesFrames, extension6(wire.NoNextHeader, reportOption...)},
		"a malformed fragment":     {wire.IPv6Fields{NextHeader: wire.FragmentHeader}, wire.MAC{}, fragment6(wire.UDPProtocol, 0, true, make([]byte, 12)...)},
		"an incomplete chain":      {wire.IPv6Fields{NextHeader: wire.FragmentHeader}, wire.MAC{}, fragment6(wire.TCPProtocol, 0, true, make([]byte, 8)...)},
		"an option in a fragment":  {wire.IPv6Fields{NextHeader: wire.FragmentHeader}, wire.MAC{}, fragment6(wire.DestinationOptions, 0, false, extension6(wire.NoNextHeader, reportOption...)...)},
		"a fragment beyond 64 KiB": {wire.IPv6Fields{NextHeader: wire.FragmentHeader}, wire.MAC{}, fragment6(wire.UDPProtocol, 65528, false, make([]byte, 8)...)},
	} {
		synctest.Test(t, func(t *testing.T) {
			_, h := bare6(t, Config{ErrorRate: 1})
			h.next(5 * time.Second) // duplicate address detection
			answered := 0
			for range 100 {
				h.send(c.to, c.f, c.payload)
				if h.next(10*time.Millisecond) != nil {
					answered++
				}
			}
			if answered < 5 || answered > 30 { // ten at once, on average
				t.Errorf("%s: %d of 100 packets caused an error, want about 10", name, answered)
			}
		})
	}
}
