package ip

import (
	"bytes"
	"math/rand/v2"
	"net/netip"
	"testing"

	"pgregory.net/rapid"

	"weir/wire"
)

var fields6 = wire.IPv6Fields{TrafficClass: 4, HopLimit: 64, NextHeader: wire.UDPProtocol, Src: netip.MustParseAddr("2001:db8::1"), Dst: netip.MustParseAddr("2001:db8::2")}

// fragments6 returns the fragments of a packet of IPv6 with a random payload of length bytes.
func fragments6(id uint32, length, mtu int) (all [][]byte, payload []byte) {
	payload = make([]byte, length)
	rand.NewChaCha8([32]byte{byte(id)}).Read(payload)
	Fragment6(fields6, payload, mtu, func() uint32 { return id }, func(h, p []byte) { all = append(all, append(bytes.Clone(h), p...)) })
	return all, payload
}

// parse6 returns a packet with its extension headers.
func parse6(t interface{ Fatal(...any) }, b []byte) (wire.IPv6, *wire.Extensions) {
	p, fault := wire.ParseIPv6(b)
	x, other := wire.ParseExtensions(p)
	if fault != wire.OK || other != wire.OK || len(p) != len(b) {
		t.Fatal("got a packet with the fault ", fault, other, ", want a valid one")
	}
	return p, &x
}

// Fragments in any order, with duplicates, yield their packet once (RFC 8200, section 4.5).
func TestIPv6ReassemblyInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all, payload := fragments6(7, rapid.IntRange(1300, 20_000).Draw(t, "length"), rapid.IntRange(1280, 1500).Draw(t, "mtu"))
		order := rapid.Permutation(all).Draw(t, "order")
		a := NewReassembler(Limits{})
		for i, b := range order {
			p, x := parse6(t, b)
			if x.Fragment == nil {
				return
			}
			for range rapid.IntRange(1, 2).Draw(t, "times") {
				got, o := a.Add6(p, x, 1)
				if o != Complete {
					continue
				}
				whole, rest := parse6(t, got)
				if i != len(order)-1 || !bytes.Equal(rest.Payload, payload) || rest.Fragment != nil || rest.Protocol != wire.UDPProtocol || whole.TrafficClass() != 4 {
					t.Fatalf("after fragment %d of %d: got %d bytes of payload, want the whole packet after the last fragment", i+1, len(order), len(rest.Payload))
				}
				return
			}
		}
		t.Fatal("got no packet, want one")
	})
}

// RFC 6946, section 4: a packet that is whole in one fragment has nothing to do with others.
func TestAtomicFragmentsAreIsolated(t *testing.T) {
	a := NewReassembler(Limits{})
	all, _ := fragments6(9, 3000, 1280)
	p, x := parse6(t, all[0])
	a.Add6(p, x, 1)
	f := fields6
	f.NextHeader, f.Payload = wire.FragmentHeader, wire.FragmentLen+3
	atomic := append(wire.AppendFragment(wire.AppendIPv6(nil, &f), wire.UDPProtocol, 0, false, 9), 1, 2, 3)
	p, x = parse6(t, atomic)
	got, o := a.Add6(p, x, 1)
	if o != Complete {
		t.Fatalf("an atomic fragment: got outcome %v, want Complete", o)
	}
	if _, rest := parse6(t, got); !bytes.Equal(rest.Payload, []byte{1, 2, 3}) {
		t.Errorf("got the payload % x, want 01 02 03", rest.Payload)
	}
	for _, b := range all[1:] {
		p, x = parse6(t, b)
		_, o = a.Add6(p, x, 1)
	}
	if o != Complete {
		t.Errorf("the other packet with the same identification: got outcome %v, want Complete", o)
	}
}

// RFC 5722, section 4, and RFC 8200, section 4.5: a fragment that overlaps another discards the
// packet, also one within the other; an exact duplicate does not.
func TestOverlappingIPv6FragmentsDiscardThePacket(t *testing.T) {
	all, _ := fragments6(3, 3000, 1280)
	part := func(from, to int, more bool, change byte) []byte {
		f := fields6
		f.NextHeader, f.Payload = wire.FragmentHeader, wire.FragmentLen+to-from
		_, payload := fragments6(3, 3000, 1280)
		payload[from] ^= change
		return append(wire.AppendFragment(wire.AppendIPv6(nil, &f), wire.UDPProtocol, from, more, 3), payload[from:to]...)
	}
	size := len(all[0]) - wire.IPv6Header - wire.FragmentLen
	for _, c := range []struct {
		name  string
		other []byte
		want  Outcome
	}{
		{"the same fragment", part(0, size, true, 0), Duplicate},
		{"the same fragment with other bytes", part(0, size, true, 1), Overlaps},
		{"the second fragment again", part(size, 2*size, true, 0), Duplicate},
		{"the second fragment as the last one", part(size, 2*size, false, 0), Overlaps},
		{"a fragment within it", part(8, 24, true, 0), Overlaps},
		{"a fragment at its start", part(0, 24, true, 0), Overlaps},
		{"a fragment at its end", part(size-16, size, true, 0), Overlaps},
		{"a fragment that begins within it", part(size-8, size+8, true, 0), Overlaps},
		{"a fragment around it", part(0, size+8, true, 0), Overlaps},
	} {
		a := NewReassembler(Limits{})
		outcome := func(b []byte) Outcome {
			p, x := parse6(t, b)
			_, o := a.Add6(p, x, 1)
			return o
		}
		outcome(all[0])
		outcome(all[1])
		if o := outcome(c.other); o != c.want {
			t.Errorf("%s: got outcome %v, want %v", c.name, o, c.want)
		}
		var last Outcome
		for _, b := range all[2:] {
			last = outcome(b)
		}
		if (last == Complete) != (c.want == Duplicate) {
			t.Errorf("%s: got outcome %v of the last fragment, want the packet complete: %t", c.name, last, c.want == Duplicate)
		}
		if c.want == Overlaps && outcome(all[0]) != Overlaps {
			t.Errorf("%s: a later fragment starts a new packet, want it discarded too", c.name)
		}
	}
}

// RFC 8200, section 4.5, and RFC 7112, section 5: fragments that no packet can have are discarded,
// and do not change the packet.
func TestMalformedIPv6FragmentsAreDiscarded(t *testing.T) {
	for _, c := range []struct {
		name  string
		next  wire.Protocol
		first int
		more  bool
		bytes []byte
		want  Outcome
	}{
		{"a length that is no multiple of 8", wire.UDPProtocol, 8, true, make([]byte, 12), BadLength},
		{"a last fragment of any length", wire.UDPProtocol, 8, false, make([]byte, 12), Incomplete},
		{"no bytes", wire.UDPProtocol, 8, true, nil, Malformed},
		{"beyond 65,535 bytes", wire.UDPProtocol, 65528, false, make([]byte, 8), TooLarge},
		{"up to 65,535 bytes", wire.UDPProtocol, 65528, false, make([]byte, 7), Incomplete},
		{"no TCP header", wire.TCPProtocol, 0, true, make([]byte, 16), IncompleteChain},
		{"a TCP header", wire.TCPProtocol, 0, true, append([]byte{12: 0x50}, make([]byte, 11)...), Incomplete},
		{"a TCP header without its options", wire.TCPProtocol, 0, true, append([]byte{12: 0x80}, make([]byte, 11)...), IncompleteChain},
		{"a UDP header", wire.UDPProtocol, 0, true, make([]byte, 8), Incomplete},
		{"the start of an ICMPv6 message", wire.ICMPv6Protocol, 0, true, make([]byte, 8), Incomplete},
		{"an unknown protocol", 99, 0, true, make([]byte, 8), Incomplete},
		{"an option header alone", wire.DestinationOptions, 0, true, []byte{17, 0, 1, 4, 0, 0, 0, 0}, IncompleteChain},
		{"an option header and no more", wire.DestinationOptions, 0, true, []byte{59, 0, 1, 4, 0, 0, 0, 0}, Incomplete},
		{"a part of an option header", wire.DestinationOptions, 0, true, []byte{17, 1, 1, 4, 0, 0, 0, 0}, IncompleteChain},
		{"a routing and a UDP header", wire.Routing, 0, true, append([]byte{17, 0, 9, 0, 0, 0, 0, 0}, make([]byte, 8)...), Incomplete},
	} {
		f := fields6
		f.NextHeader, f.Payload = wire.FragmentHeader, wire.FragmentLen+len(c.bytes)
		p, x := parse6(t, append(wire.AppendFragment(wire.AppendIPv6(nil, &f), c.next, c.first, c.more, 3), c.bytes...))
		a := NewReassembler(Limits{})
		if _, o := a.Add6(p, x, 1); o != c.want || o != Incomplete && a.HeldBytes() != 0 {
			t.Errorf("%s: got outcome %v, %d bytes held; want %v", c.name, o, a.HeldBytes(), c.want)
		}
	}
}
