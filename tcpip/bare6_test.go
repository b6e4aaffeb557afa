package tcpip

import (
	"net/netip"
	"testing"
	"time"

	"weir/tcpip/link"
	"weir/wire"
)

// bareHost6 is a bareHost of IPv6: 2001:db8::9, beside a stack that is 2001:db8::1. It answers
// neighbour solicitations.
type bareHost6 struct{ bareHost }

var bareAddr6, stackAddr6 = netip.MustParseAddr("2001:db8::9"), netip.MustParseAddr("2001:db8::1")

// bare6 returns a stack and its only neighbour.
func bare6(t *testing.T, c Config) (*Stack, *bareHost6) {
	t.Helper()
	return bare6On(t, link.PairConfig{}, c)
}

// bare6On is bare6 on a given kind of link.
func bare6On(t *testing.T, on link.PairConfig, c Config) (*Stack, *bareHost6) {
	t.Helper()
	la, lb := link.Pair(on)
	c.Link, c.Addrs = la, prefixes("2001:db8::1/64")
	s := stack(t, c)
	t.Cleanup(func() { lb.Close() })
	return s, &bareHost6{bareHost{t: t, s: s, q: lb.Queue(0), mac: wire.MAC{2, 0, 0, 0, 0, 9}, stack: la.Caps().MAC}}
}

// send sends a packet to a hardware address, zero for the stack's. The default addresses are those
// of the two hosts.
func (h *bareHost6) send(to wire.MAC, f wire.IPv6Fields, payload []byte) {
	if !f.Src.IsValid() {
		f.Src = bareAddr6
	}
	if !f.Dst.IsValid() {
		f.Dst = stackAddr6
	}
	if f.HopLimit == 0 {
		f.HopLimit = 64
	}
	if to == (wire.MAC{}) {
		to = h.stack
	}
	f.Payload = len(payload)
	h.q.Write(&link.Parts{Head: wire.AppendIPv6(wire.AppendEthernet(nil, to, h.mac, wire.TypeIPv6), &f), Body: [2][]byte{payload}})
}

// next returns the stack's next packet for the host, or nil if none arrives in time. It answers
// solicitations for the host's address, and skips what the stack sends to groups.
func (h *bareHost6) next(wait time.Duration) wire.IPv6 {
	h.t.Helper()
	frames, end := make([]link.Frame, 1), time.Now().Add(wait)
	for time.Now().Before(end) {
		n, err := h.q.Read(frames, time.Until(end))
		if err != nil {
			h.t.Fatal(err)
		}
		if n == 0 {
			continue
		}
		e, _ := wire.ParseEthernet(frames[0].Bytes)
		v, fault := wire.ParseIPv6(append([]byte(nil), e.Payload()...))
		if fault != wire.OK {
			h.t.Fatalf("the stack sent an invalid packet: got fault %v, want a valid IPv6 packet", fault)
		}
		if m, _ := wire.ParseICMPv6(v.Payload()); v.NextHeader() == wire.ICMPv6Protocol && m.Type() == wire.NeighbourSolicit {
			h.answer(v.Src(), m)
		} else if v.Dst() == bareAddr6 {
			return v
		}
	}
	return nil
}

// answer answers a neighbour solicitation for the host's address.
func (h *bareHost6) answer(from netip.Addr, m wire.ICMPv6) {
	if n, fault := wire.ParseNeighbour(m); fault == wire.OK && n.Target == bareAddr6 {
		n = wire.Neighbour{Target: bareAddr6, Solicited: true, Override: true, Options: wire.AppendLinkAddr(nil, wire.TargetLinkAddr, h.mac)}
		h.send(wire.MAC{}, wire.IPv6Fields{NextHeader: wire.ICMPv6Protocol, HopLimit: wire.NDPHopLimit, Dst: from}, wire.AppendNeighbour(nil, bareAddr6, from, wire.NeighbourAdvert, &n))
	}
}

// datagram6To returns a datagram from port 5000 of the bare host to a port of an address.
func datagram6To(to netip.Addr, port uint16) []byte {
	return append(wire.AppendUDP(nil, netip.AddrPortFrom(bareAddr6, 5000), netip.AddrPortFrom(to, port), []byte("x")), 'x')
}

// icmp6Of returns the ICMPv6 message in a packet.
func icmp6Of(t *testing.T, v wire.IPv6) wire.ICMPv6 {
	t.Helper()
	if v == nil || v.NextHeader() != wire.ICMPv6Protocol {
		t.Fatalf("got the packet % x, want an ICMPv6 message", []byte(v))
	}
	m, fault := wire.ParseICMPv6(v.Payload())
	if fault != wire.OK || !m.ChecksumOK(v.Src(), v.Dst()) {
		t.Fatalf("got an ICMPv6 message with fault %v, right checksum %t; want a valid one", fault, fault == wire.OK && m.ChecksumOK(v.Src(), v.Dst()))
	}
	return m
}
