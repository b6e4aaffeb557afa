package icmp

import (
	"net/netip"
	"testing"

	"weir/wire"
)

func packet6(next wire.Protocol, dst string, payload []byte) wire.IPv6 {
	f := wire.IPv6Fields{HopLimit: 64, NextHeader: next, Src: netip.MustParseAddr("2001:db8::1"), Dst: netip.MustParseAddr(dst), Payload: len(payload)}
	return append(wire.AppendIPv6(nil, &f), payload...)
}

// RFC 4443, section 2.4 (c) and (e).
func TestWhichIPv6PacketsCauseErrors(t *testing.T) {
	here, there := netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")
	message := func(t wire.ICMPv6Type) []byte { return wire.AppendICMPv6(nil, here, there, t, 0, 0, nil) }
	for _, c := range []struct {
		name  string
		p     wire.IPv6
		group bool
		what  Problem
		want  int // quoted bytes; below zero: no error
	}{
		{"a datagram", packet6(wire.UDPProtocol, "2001:db8::2", make([]byte, 100)), false, PortUnreachable, 140},
		{"a long one", packet6(wire.UDPProtocol, "2001:db8::2", make([]byte, 2000)), false, PortUnreachable, 1232},
		{"an echo", packet6(wire.ICMPv6Protocol, "2001:db8::2", message(wire.EchoRequest6)), false, BadHeader, 48},
		{"an error", packet6(wire.ICMPv6Protocol, "2001:db8::2", message(wire.Unreachable6)), false, BadHeader, -1},
		{"a redirect", packet6(wire.ICMPv6Protocol, "2001:db8::2", message(wire.Redirect6)), false, BadHeader, -1},
		{"a packet to a group", packet6(wire.UDPProtocol, "ff02::1", make([]byte, 8)), true, PortUnreachable, -1},
		{"a frame to a group", packet6(wire.UDPProtocol, "2001:db8::2", make([]byte, 8)), true, PortUnreachable, -1},
		{"an error behind an unknown option", packet6(wire.DestinationOptions, "2001:db8::2", append([]byte{58, 0, 0x9e, 4, 0, 0, 0, 0}, message(wire.Unreachable6)...)), false, UnknownOption, -1},
		{"an incomplete chain to a group", packet6(wire.FragmentHeader, "ff02::1", wire.AppendFragment(nil, wire.UDPProtocol, 0, true, 1)), true, IncompleteChain, -1},
		{"an unknown option to a group", packet6(wire.UDPProtocol, "ff02::1", make([]byte, 8)), true, UnknownOption, 48},
	} {
		if q, ok := QuoteV6(c.p, c.group, c.what); ok != (c.want >= 0) || ok && len(q) != c.want {
			t.Errorf("%s: %d bytes quoted (%t), want %d", c.name, len(q), ok, c.want)
		}
	}
}

// An error that one end writes is what the other reads.
func TestIPv6ErrorsAreReadAsWritten(t *testing.T) {
	about := packet6(wire.UDPProtocol, "2001:db8::2", make([]byte, 100))
	for _, what := range []Problem{PortUnreachable, ProtocolUnreachable, HostUnreachable, NetUnreachable, Prohibited, ReassemblyExceeded, BadHeader, UnknownOption, IncompleteChain} {
		quote, _ := QuoteV6(about, false, what)
		m, fault := wire.ParseICMPv6(AppendErrorV6(nil, about.Dst(), about.Src(), what, 6, quote))
		if fault != wire.OK || !m.ChecksumOK(about.Dst(), about.Src()) {
			t.Fatalf("problem %d: got fault %v or a wrong checksum", what, fault)
		}
		r, ok := ParseErrorV6(m)
		if !ok || r.Problem != what || r.Len != 140 || r.Src != about.Src() || r.Dst != about.Dst() || r.Protocol != wire.UDPProtocol {
			t.Errorf("problem %d: got %+v (%t), want the same", what, r, ok)
		}
	}
}

// RFC 4443, sections 2.1 and 2.4 (a, b): a message of an unknown type below 128 is an error, and of
// another one it is none.
func TestIPv6ErrorsOfAllTypesAreRead(t *testing.T) {
	about := packet6(wire.UDPProtocol, "2001:db8::2", make([]byte, 100))
	for kind := range 256 {
		for code := range 256 {
			m, _ := wire.ParseICMPv6(wire.AppendICMPv6(nil, about.Dst(), about.Src(), wire.ICMPv6Type(kind), uint8(code), 0, about))
			if r, ok := ParseErrorV6(m); ok != (kind < 128) || ok != (r.Problem != NoProblem) {
				t.Errorf("type %d, code %d: got the problem %d (%t), want one for types below 128 only", kind, code, r.Problem, ok)
			}
		}
	}
}

func TestIPv6PacketTooBigHasAnMTU(t *testing.T) {
	about := packet6(wire.TCPProtocol, "2001:db8::2", make([]byte, 1460))
	m, _ := wire.ParseICMPv6(wire.AppendICMPv6(nil, about.Dst(), about.Src(), wire.PacketTooBig6, 0, 1400, about[:100]))
	if r, ok := ParseErrorV6(m); !ok || r.Problem != TooBig || r.NextMTU != 1400 || r.Len != 1500 || !r.Plausible(1500) || r.Plausible(1499) {
		t.Errorf("got %+v (%t), want a Packet Too Big of 1,400 bytes that is plausible for a link of 1,500", r, ok)
	}
}

// RFC 8201, section 4: a Packet Too Big with an MTU below 1,280 bytes MUST be discarded.
func TestIPv6PacketTooBigBelowTheMinimumIsNotPlausible(t *testing.T) {
	about := packet6(wire.TCPProtocol, "2001:db8::2", make([]byte, 1460))
	for mtu, want := range map[uint32]bool{0: false, 68: false, 1279: false, 1280: true, 1499: true, 1500: false, 1<<32 - 1: false} {
		m, _ := wire.ParseICMPv6(wire.AppendICMPv6(nil, about.Dst(), about.Src(), wire.PacketTooBig6, 0, mtu, about[:100]))
		if r, ok := ParseErrorV6(m); !ok || r.Plausible(1500) != want {
			t.Errorf("an MTU of %d: got plausible %t (%t), want %t", mtu, r.Plausible(1500), ok, want)
		}
	}
}

func FuzzParseErrorV6(f *testing.F) {
	about := packet6(wire.UDPProtocol, "2001:db8::2", make([]byte, 100))
	f.Add([]byte(wire.AppendICMPv6(nil, about.Dst(), about.Src(), wire.Unreachable6, 4, 0, about)))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, fault := wire.ParseICMPv6(b)
		if fault != wire.OK {
			return
		}
		if r, ok := ParseErrorV6(m); ok && len(r.Transport) < 8 {
			t.Errorf("got %d bytes of the payload, want at least 8", len(r.Transport))
		}
	})
}
