package icmp

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"weir/wire"
)

func packet(p wire.Protocol, dst string, offset int, payload []byte) wire.IPv4 {
	f := wire.IPv4Fields{TTL: 64, Protocol: p, Src: netip.MustParseAddr("10.0.0.1"), Dst: netip.MustParseAddr(dst), FragmentOffset: offset, Payload: len(payload)}
	return append(wire.AppendIPv4(nil, &f), payload...)
}

// RFC 1122, section 3.2.2: no errors about these packets.
func TestWhichPacketsCauseErrors(t *testing.T) {
	for _, c := range []struct {
		name      string
		p         wire.IPv4
		broadcast bool
		want      int // quoted bytes; below zero: no error
	}{
		{"a datagram", packet(wire.UDPProtocol, "10.0.0.2", 0, make([]byte, 100)), false, 120},
		{"a long one", packet(wire.UDPProtocol, "10.0.0.2", 0, make([]byte, 2000)), false, 548},
		{"an echo", packet(wire.ICMPv4Protocol, "10.0.0.2", 0, wire.AppendICMP(nil, wire.EchoRequest, 0, 0, nil)), false, 28},
		{"an error", packet(wire.ICMPv4Protocol, "10.0.0.2", 0, wire.AppendICMP(nil, wire.Unreachable, 3, 0, nil)), false, -1},
		{"a non-initial fragment", packet(wire.UDPProtocol, "10.0.0.2", 8, make([]byte, 8)), false, -1},
		{"a broadcast", packet(wire.UDPProtocol, "10.0.0.255", 0, make([]byte, 8)), true, -1},
		{"a multicast", packet(wire.UDPProtocol, "224.0.0.1", 0, make([]byte, 8)), false, -1},
	} {
		if q, ok := Quote(c.p, c.broadcast); ok != (c.want >= 0) || ok && len(q) != c.want {
			t.Errorf("%s: %d bytes quoted (%t), want %d", c.name, len(q), ok, c.want)
		}
	}
}

func TestParseError(t *testing.T) {
	about := packet(wire.UDPProtocol, "10.0.0.2", 0, make([]byte, 100))
	for _, c := range []struct {
		kind wire.ICMPType
		code uint8
		want Problem
	}{
		{wire.Unreachable, wire.PortUnreachable, PortUnreachable}, {wire.Unreachable, wire.FragmentationNeeded, TooBig}, {wire.Unreachable, wire.NetUnreachable, NetUnreachable},
		{wire.Unreachable, 250, HostUnreachable}, {wire.TimeExceeded, wire.TransitExceeded, TTLExceeded}, {wire.TimeExceeded, wire.ReassemblyExceeded, ReassemblyExceeded},
		{wire.ParameterProblem, 0, BadHeader}, {wire.ParameterProblem, 1, BadHeader}, {wire.EchoReply, 0, NoProblem},
	} {
		r, ok := ParseError(wire.AppendICMP(nil, c.kind, c.code, 1400, about[:28]))
		if ok != (c.want != NoProblem) || r.Problem != c.want || ok && (r.Len != 120 || r.NextMTU != 1400) {
			t.Errorf("%d %d: %+v (%t), want %v", c.kind, c.code, r, ok, c.want)
		}
	}
	if _, ok := ParseError(wire.AppendICMP(nil, wire.Unreachable, 3, 0, about[:27])); ok {
		t.Error("an error that quotes 27 bytes is parsed, want at least 28")
	}
	later := packet(wire.UDPProtocol, "10.0.0.2", 8, make([]byte, 100))
	if _, ok := ParseError(wire.AppendICMP(nil, wire.Unreachable, 3, 0, later)); ok {
		t.Error("an error about a non-initial fragment was parsed, want it rejected: it quotes no ports")
	}
}

func TestErrorsAreRateLimited(t *testing.T) {
	l := NewLimiter(10, rand.New(rand.NewPCG(1, 2)))
	sent := 0
	for ms := range 2000 {
		if l.Allow(time.Duration(ms) * time.Millisecond) {
			sent++
		}
	}
	if sent < 100 || sent > 140 { // 100 at once, 10 a second on average
		t.Errorf("%d errors in two seconds, want 100 to 140", sent)
	}
}

// A Packet Too Big must be plausible (RFC 5927, section 7.2).
func TestPacketTooBigMustBePlausible(t *testing.T) {
	for _, c := range []struct {
		name         string
		whole        bool
		length, says int
		want         bool
	}{
		{"a plausible report", true, 1500, 1400, true},
		{"an old router that reports no MTU", true, 1500, 0, true},
		{"a packet without Don't Fragment", false, 1500, 1400, false},
		{"a packet larger than the link MTU", true, 1501, 1400, false},
		{"a packet not larger than the reported MTU", true, 1400, 1400, false},
	} {
		f := wire.IPv4Fields{DontFragment: c.whole, TTL: 64, Protocol: wire.UDPProtocol, Src: netip.MustParseAddr("10.0.0.1"), Dst: netip.MustParseAddr("10.0.0.2"), Payload: c.length - wire.IPv4Header}
		r, ok := ParseError(wire.AppendICMP(nil, wire.Unreachable, wire.FragmentationNeeded, uint32(c.says), append(wire.AppendIPv4(nil, &f), make([]byte, 8)...)))
		if !ok || r.Plausible(1500) != c.want {
			t.Errorf("%s: got parsed %t, plausible %t; want true, %t (RFC 1191, RFC 5927)", c.name, ok, r.Plausible(1500), c.want)
		}
	}
}

func FuzzParseError(f *testing.F) {
	f.Add([]byte(wire.AppendICMP(nil, wire.Unreachable, 3, 0, packet(wire.UDPProtocol, "10.0.0.2", 0, make([]byte, 100)))))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, fault := wire.ParseICMP(b)
		if fault != wire.OK {
			return
		}
		if r, ok := ParseError(m); ok && len(r.Transport) < 8 {
			t.Errorf("got %d bytes of the payload, want at least 8", len(r.Transport))
		}
	})
}

// Errors to one address do not use up the limit of others: a tenth of the rate goes to one address.
func TestErrorsToOneGroupDoNotStarveOthers(t *testing.T) {
	s := NewGroupLimiter(100, rand.New(rand.NewPCG(1, 2)))
	sent := 0
	for i := range 10_000 {
		if s.Allow(1, time.Second+time.Duration(i)*time.Millisecond) {
			sent++
		}
	}
	if sent < 160 || sent > 240 {
		t.Errorf("%d errors went to one address in 10 s, want 100 at once and 10 a second, on average", sent)
	}
	if !s.Allow(2, 11*time.Second) {
		t.Error("no error is allowed to another address, want one")
	}
}

// The number of errors that an address still gets does not reveal how many others of its group got:
// the cost of one is random.
func TestErrorBudgetCannotBeCounted(t *testing.T) {
	counts := map[int]bool{}
	for seed := range uint64(20) {
		s, sent := NewGroupLimiter(100, rand.New(rand.NewPCG(seed, 2))), 0
		for s.Allow(1, time.Second) {
			sent++
		}
		counts[sent] = true
	}
	if len(counts) < 5 {
		t.Errorf("got %d different counts in 20 trials, want at least 5", len(counts))
	}
}
