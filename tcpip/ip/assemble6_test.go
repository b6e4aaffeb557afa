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

// RFC 5722, section 4.
func TestOverlappingIPv6FragmentsDiscardThePacket(t *testing.T) {
	a := NewReassembler(Limits{})
	all, _ := fragments6(3, 3000, 1280)
	p, x := parse6(t, all[0])
	a.Add6(p, x, 1)
	f := fields6
	f.NextHeader, f.Payload = wire.FragmentHeader, wire.FragmentLen+16
	overlapping := append(wire.AppendFragment(wire.AppendIPv6(nil, &f), wire.UDPProtocol, 8, true, 3), make([]byte, 16)...)
	p, x = parse6(t, overlapping)
	if _, o := a.Add6(p, x, 1); o != Duplicate {
		t.Errorf("a fragment within another: got outcome %v, want Duplicate", o)
	}
	f.Payload = wire.FragmentLen + 1600
	overlapping = append(wire.AppendFragment(wire.AppendIPv6(nil, &f), wire.UDPProtocol, 8, true, 3), make([]byte, 1600)...)
	p, x = parse6(t, overlapping)
	if _, o := a.Add6(p, x, 1); o != Overlaps {
		t.Errorf("a fragment that overlaps another: got outcome %v, want Overlaps", o)
	}
	for _, b := range all[1:] {
		p, x = parse6(t, b)
		if _, o := a.Add6(p, x, 1); o == Complete {
			t.Error("the packet was reassembled, want it discarded")
		}
	}
}
