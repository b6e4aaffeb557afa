package tcpip

import (
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"weir/tcpip/link"
	"weir/tcpip/tcp"
	"weir/wire"
)

// tcpOf returns the segment in a packet.
func tcpOf(t *testing.T, v wire.IPv4) wire.TCP {
	t.Helper()
	if v == nil {
		t.Fatal("got no packet, want a segment")
	}
	s, fault := wire.ParseTCP(v.Payload())
	if v.Protocol() != wire.TCPProtocol || fault != wire.OK || !s.ChecksumOK(v.Src(), v.Dst()) {
		t.Fatalf("got the packet % x, want a valid segment", []byte(v))
	}
	return s
}

// reply answers a segment: with flags, an acknowledgment number, and an MSS of 1,460 if it is a
// SYN.
func (h *bareHost) reply(to wire.TCP, flags wire.Flags, seq wire.Seq) {
	f := wire.TCPFields{Src: netip.AddrPortFrom(bareAddr, to.DstPort()), Dst: netip.AddrPortFrom(stackAddr, to.SrcPort()), Seq: seq, Ack: to.Seq().Add(to.SeqLen()), Flags: flags | wire.ACK, Window: 65535}
	if flags&wire.SYN != 0 {
		f.Options = (&wire.TCPOptions{MSS: 1460}).Append(nil)
	}
	h.send(wire.IPv4Fields{Protocol: wire.TCPProtocol}, wire.AppendTCP(nil, &f))
}

// connected returns an established connection of the stack to the host.
func connected(t *testing.T, s *Stack, h *bareHost) net.Conn {
	t.Helper()
	conns := make(chan net.Conn, 1) // the one
	go func() {
		c, err := s.Dial("tcp", "10.0.0.9:80")
		if err != nil {
			t.Error(err)
		}
		conns <- c
	}()
	h.reply(tcpOf(t, h.next(time.Second)), wire.SYN, 1000)
	h.next(time.Second) // its ACK
	return <-conns
}

// first returns the first packet that a Write makes; all of its data is acknowledged.
func (h *bareHost) first(c net.Conn, bytes int) wire.IPv4 {
	h.t.Helper()
	if _, err := c.Write(make([]byte, bytes)); err != nil {
		h.t.Fatal(err)
	}
	all := h.burst()
	for _, v := range all {
		h.reply(tcpOf(h.t, v), 0, 1001)
	}
	for rest := h.burst(); len(rest) > 0; rest = h.burst() {
		for _, v := range rest {
			h.reply(tcpOf(h.t, v), 0, 1001)
		}
	}
	return all[0]
}

// burst returns the packets that arrive without a pause.
func (h *bareHost) burst() (all []wire.IPv4) {
	for v := h.next(time.Millisecond); v != nil; v = h.next(time.Millisecond) {
		all = append(all, v)
	}
	return all
}

// A path MTU below the link's limits segments, also of later connections, for ten minutes (RFC
// 1191).
func TestSegmentsFitThePath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// the host is silent for minutes
		s, h := bare(t, Config{TCP: tcp.Config{KeepAliveIdle: -1}})
		c := connected(t, s, h)
		if _, err := c.Write(make([]byte, 3000)); err != nil {
			t.Fatal(err)
		}
		all := h.burst()
		if len(all[0]) != 1500 || !all[0].DontFragment() {
			t.Fatalf("the first packet has %d bytes, want 1500", len(all[0]))
		}
		h.send(wire.IPv4Fields{Protocol: wire.ICMPv4Protocol}, errorAbout(wire.FragmentationNeeded, 1000, all[0][:28]))
		again := h.burst()
		if len(again) == 0 || len(again[0]) != 1000 || tcpOf(t, again[0]).Seq() != tcpOf(t, all[0]).Seq() {
			t.Fatalf("got %d retransmitted packets, want the first segment again in 1000 bytes", len(again))
		}
		last := again[len(again)-1]
		h.reply(tcpOf(t, last), 0, 1001)
		h.burst()
		if v := h.first(connected(t, s, h), 3000); len(v) != 1000 {
			t.Errorf("another connection's first packet has %d bytes, want 1000", len(v))
		}
		time.Sleep(9 * time.Minute)
		if v := h.first(c, 3000); len(v) != 1000 {
			t.Errorf("after nine minutes a packet has %d bytes, want 1000", len(v))
		}
		time.Sleep(time.Minute)
		if v := h.first(c, 3000); len(v) != 1500 {
			t.Errorf("after ten minutes a packet has %d bytes, want 1500", len(v))
		}
	})
}

// When packets as large have been delivered, a Packet Too Big applies only after the quoted segment
// has gone unacknowledged for an RTO, because it may be forged (RFC 5927, section 7.2).
func TestPTBIsValidatedAgainstDeliveredData(t *testing.T) {
	for _, comes := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s, h := bare(t, Config{})
			c := connected(t, s, h)
			h.first(c, 3000)
			if _, err := c.Write(make([]byte, 3000)); err != nil {
				t.Fatal(err)
			}
			all := h.burst()
			h.send(wire.IPv4Fields{Protocol: wire.ICMPv4Protocol}, errorAbout(wire.FragmentationNeeded, 1000, all[0][:28]))
			if again := h.burst(); len(again) > 0 {
				t.Fatalf("after a Packet Too Big: got %d packets at once, the first of %d bytes; want none before an RTO (RFC 5927, section 7.2)", len(again), len(again[0]))
			}
			if !comes {
				if v := h.next(time.Second); len(v) != 1000 || tcpOf(t, v).Seq() != tcpOf(t, all[0]).Seq() {
					t.Errorf("the retransmission has %d bytes, want 1000", len(v))
				}
				return
			}
			h.reply(tcpOf(t, all[len(all)-1]), 0, 1001)
			if v := h.first(c, 3000); len(v) != 1500 {
				t.Errorf("after its acknowledgment the next packet has %d bytes, want 1500", len(v))
			}
		})
	}
}

// A path MTU below 552 bytes is not accepted: larger packets are sent without DF instead, as Linux
// does.
func TestAPathMTUBelowTheMinimumClearsDF(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, h := bare(t, Config{})
		c := connected(t, s, h)
		if _, err := c.Write(make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
		h.send(wire.IPv4Fields{Protocol: wire.ICMPv4Protocol}, errorAbout(wire.FragmentationNeeded, 296, h.burst()[0][:28]))
		again := h.burst()
		if len(again) != 2 || len(again[0]) != 552 || again[0].DontFragment() || again[0].ID() == again[1].ID() {
			t.Fatalf("got %d packets, the first of %d bytes with DF %t; want 2, the first of 552 bytes, without DF and with different Identifications", len(again), len(again[0]), again[0].DontFragment())
		}
	})
}

// Identifications between two hosts are consecutive, and unrelated to those between others.
func TestIdentificationsAreCountedPerPair(t *testing.T) {
	s, _ := hosts(t, link.PairConfig{})
	other, same := netip.MustParseAddr("10.0.0.7"), 0
	for range 100 {
		id := s.packetID(stackAddr, bareAddr)
		if next := s.packetID(stackAddr, bareAddr); next != id+1 {
			t.Fatalf("the Identification %d follows %d, want consecutive ones", next, id)
		}
		if s.packetID(stackAddr, other) == id+2 {
			same++
		}
	}
	if same > 50 { // unless they share a counter and, by a rare chance, their start
		t.Errorf("another pair of hosts has consecutive Identifications %d times of 100, want at most 50: each pair has its own counter", same)
	}
}
