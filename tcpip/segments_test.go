package tcpip

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"weir/tcpip/link"
	"weir/tcpip/tcp"
	"weir/wire"
)

// segment sends a segment from port 5000 of the bare host.
func (h *bareHost) segment(dst netip.AddrPort, s wire.TCPFields, payload string) {
	s.Src, s.Dst = netip.AddrPortFrom(bareAddr, 5000), dst
	h.send(wire.IPv4Fields{Protocol: wire.TCPProtocol, Dst: dst.Addr()}, append(wire.AppendTCP(nil, &s, []byte(payload)), payload...))
}

// segmentOf returns the segment in a packet.
func segmentOf(t *testing.T, v wire.IPv4) (wire.TCP, tcp.Segment) {
	t.Helper()
	if v == nil || v.Protocol() != wire.TCPProtocol {
		t.Fatalf("got % x, want a segment", []byte(v))
	}
	s, fault := wire.ParseTCP(v.Payload())
	if fault != wire.OK || !s.ChecksumOK(v.Src(), v.Dst()) {
		t.Fatalf("got a segment with fault %v, right checksum %t; want a valid one", fault, fault == wire.OK && s.ChecksumOK(v.Src(), v.Dst()))
	}
	return s, tcp.ParseSegment(s)
}

// deaf answers ARP requests only, until the link is closed.
func (h *bareHost) deaf() {
	go func() {
		for frames := make([]link.Frame, 1); ; {
			if _, err := h.q.Read(frames, -1); err != nil {
				return
			}
			if e, _ := wire.ParseEthernet(frames[0].Bytes); e.Type() == wire.TypeARP {
				h.answer(wire.ARP(e.Payload()))
			}
		}
	}()
}

// Segments of no connection are answered by RST (RFC 9293, section 3.10.7.1), or not at all.
func TestSegmentsOfNoConnectionAreReset(t *testing.T) {
	to := func(a string) netip.AddrPort { return netip.MustParseAddrPort(a) }
	options := string((&wire.TCPOptions{MSS: 1460}).Append(nil))
	for _, c := range []struct {
		name    string
		dst     netip.AddrPort
		s       wire.TCPFields
		payload string
		want    wire.Flags // 0: silence
		seq     wire.Seq
		ack     wire.Seq
	}{
		{"a SYN for a closed port", to("10.0.0.1:81"), wire.TCPFields{Seq: 7, Flags: wire.SYN}, "", wire.RST | wire.ACK, 0, 8},
		{"a SYN with data", to("10.0.0.1:81"), wire.TCPFields{Seq: 7, Flags: wire.SYN}, "data", wire.RST | wire.ACK, 0, 12},
		{"an acknowledgment", to("10.0.0.1:81"), wire.TCPFields{Seq: 7, Ack: 99, Flags: wire.ACK}, "", wire.RST, 99, 0},
		{"an acknowledgment for who listens", to("10.0.0.1:80"), wire.TCPFields{Seq: 7, Ack: 99, Flags: wire.ACK}, "", wire.RST, 99, 0},
		{"data without one", to("10.0.0.1:81"), wire.TCPFields{Seq: 7}, "data", wire.RST | wire.ACK, 0, 11},
		{"data without one, for who listens (RFC 9293, section 3.10.7.2)", to("10.0.0.1:80"), wire.TCPFields{Seq: 7}, "data", 0, 0, 0},
		{"FIN alone, for who listens", to("10.0.0.1:80"), wire.TCPFields{Seq: 7, Flags: wire.FIN}, "", 0, 0, 0},
		{"nothing at all, for who listens", to("10.0.0.1:80"), wire.TCPFields{Seq: 7}, "", 0, 0, 0},
		{"RST", to("10.0.0.1:81"), wire.TCPFields{Seq: 7, Flags: wire.RST}, "", 0, 0, 0},
		{"RST for who listens", to("10.0.0.1:80"), wire.TCPFields{Seq: 7, Flags: wire.RST}, "", 0, 0, 0},
		{"a broadcast SYN", to("10.0.0.255:80"), wire.TCPFields{Seq: 7, Flags: wire.SYN}, "", 0, 0, 0},
		{"a SYN for another", to("10.0.0.8:80"), wire.TCPFields{Seq: 7, Flags: wire.SYN}, "", 0, 0, 0},
		{"a SYN for who listens", to("10.0.0.1:80"), wire.TCPFields{Seq: 7, Flags: wire.SYN, Options: []byte(options)}, "", wire.SYN | wire.ACK, 0, 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, h := bare(t, Config{})
				if _, err := s.Listen("tcp", ":80"); err != nil {
					t.Fatal(err)
				}
				h.segment(c.dst, c.s, c.payload)
				v := h.next(100 * time.Millisecond)
				if c.want == 0 {
					if v != nil {
						t.Errorf("got the answer % x, want none", []byte(v))
					}
					return
				}
				w, got := segmentOf(t, v)
				if got.Flags != c.want || got.Ack != c.ack || c.want&wire.SYN == 0 && got.Seq != c.seq || w.DstPort() != 5000 || w.SrcPort() != c.dst.Port() {
					t.Errorf("got %v seq %d ack %d, want %v seq %d ack %d", got.Flags, got.Seq, got.Ack, c.want, c.seq, c.ack)
				}
			})
		})
	}
}

// A segment with a wrong checksum has no effect.
func TestSegmentsWithAWrongChecksumAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, h := bare(t, Config{})
		f := wire.TCPFields{Src: netip.AddrPortFrom(bareAddr, 5000), Dst: netip.AddrPortFrom(stackAddr, 81), Flags: wire.SYN}
		b := wire.AppendTCP(nil, &f)
		b[17]++
		h.send(wire.IPv4Fields{Protocol: wire.TCPProtocol}, b)
		if v := h.next(time.Second); v != nil {
			t.Errorf("got the answer % x, want none", []byte(v))
		}
		if h.drops()[DropTCPHeader] != 1 {
			t.Errorf("a segment with a wrong checksum: got drops %v, want one of %v", h.drops(), DropTCPHeader)
		}
	})
}

// ICMP errors about a SYN: a hard error ends the connection at once, a soft one is the cause if it
// times out, and an implausible one is ignored (RFC 1122, section 4.2.3.9, and RFC 5927, section
// 4.1).
func TestHardICMPErrorsEndADial(t *testing.T) {
	for _, c := range []struct {
		name   string
		kind   wire.ICMPType
		code   uint8
		change func(quoted []byte)
		want   error
		soon   bool
	}{
		{"port unreachable", wire.Unreachable, wire.PortUnreachable, func([]byte) {}, syscall.ECONNREFUSED, true},
		{"protocol unreachable", wire.Unreachable, wire.ProtocolUnreachable, func([]byte) {}, syscall.ECONNREFUSED, true},
		{"host unreachable", wire.Unreachable, wire.HostUnreachable, func([]byte) {}, syscall.EHOSTUNREACH, false},
		{"network unreachable", wire.Unreachable, wire.NetUnreachable, func([]byte) {}, syscall.ENETUNREACH, false},
		{"it went too far", wire.TimeExceeded, wire.TransitExceeded, func([]byte) {}, syscall.EHOSTUNREACH, false},
		{"a source quench (RFC 6633)", 4, 0, func([]byte) {}, syscall.ETIMEDOUT, false},
		{"about another place in the stream", wire.Unreachable, wire.PortUnreachable, func(q []byte) { q[27]++ }, syscall.ETIMEDOUT, false},
		{"about another port", wire.Unreachable, wire.PortUnreachable, func(q []byte) { q[21]++ }, syscall.ETIMEDOUT, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, h := bare(t, Config{})
				failed, begun := make(chan error, 1), time.Now() // Dial -> the test
				go func() { _, err := s.Dial("tcp", "10.0.0.9:80"); failed <- err }()
				about := h.next(time.Second)[:28]
				c.change(about)
				h.send(wire.IPv4Fields{Protocol: wire.ICMPv4Protocol}, wire.AppendICMP(nil, c.kind, c.code, 0, about))
				h.deaf()
				if err := <-failed; !errors.Is(err, c.want) || c.soon != (time.Since(begun) < time.Second) {
					t.Errorf("after %v: %v, want %v", time.Since(begun), err, c.want)
				}
			})
		})
	}
}

// ICMP errors do not end an established connection (RFC 5927, section 5.2). They are the cause if
// it times out.
func TestICMPErrorsDoNotEndConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, h, about := opened(t)
		for _, code := range []uint8{wire.PortUnreachable, wire.ProtocolUnreachable, wire.HostUnreachable} {
			h.send(wire.IPv4Fields{Protocol: wire.ICMPv4Protocol}, wire.AppendICMP(nil, wire.Unreachable, code, 0, about))
		}
		synctest.Wait()
		if n, err := c.Write([]byte("more")); n != 4 || err != nil {
			t.Errorf("after ICMP errors: got %v, want the connection to go on", err)
		}
		c.(*Conn).SetUserTimeout(time.Minute)
		h.deaf()
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.EHOSTUNREACH) {
			t.Errorf("after the user timeout: got %v, want the soft error", err)
		}
	})
}

// After a Packet Too Big, the segment is sent again at once in smaller ones. An implausible one is
// ignored (RFC 1191, RFC 5927, section 7).
func TestAPTBResendsASegmentInSmallerOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, h, _ := opened(t)
		c.Write(make([]byte, 1400))
		about := h.next(time.Second)
		wrong := append([]byte(nil), about[:28]...)
		wrong[24] ^= 0x80
		h.send(wire.IPv4Fields{Protocol: wire.ICMPv4Protocol}, wire.AppendICMP(nil, wire.Unreachable, wire.FragmentationNeeded, 700, wrong))
		synctest.Wait()
		h.send(wire.IPv4Fields{Protocol: wire.ICMPv4Protocol}, wire.AppendICMP(nil, wire.Unreachable, wire.FragmentationNeeded, 1000, about[:28]))
		h.next(10 * time.Millisecond) // what was in flight before it
		if v := h.next(10 * time.Millisecond); len(v) != 1000 {
			t.Errorf("retransmitted in a packet of %d bytes, want 1000", len(v))
		}
	})
}

// opened returns a connection of a stack to the bare host, and the first bytes of a packet with its
// data.
func opened(t *testing.T) (net.Conn, *bareHost, []byte) {
	s, h := bare(t, Config{})
	dialed := make(chan net.Conn, 1) // Dial -> the test
	go func() {
		c, err := s.Dial("tcp", "10.0.0.9:5000")
		if err != nil {
			t.Error(err)
		}
		dialed <- c
	}()
	w, syn := segmentOf(t, h.next(time.Second))
	answer := wire.TCPFields{Seq: 100, Ack: syn.Seq.Add(1), Flags: wire.SYN | wire.ACK, Window: 65535, Options: (&wire.TCPOptions{MSS: 1460}).Append(nil)}
	h.segment(netip.AddrPortFrom(stackAddr, w.SrcPort()), answer, "")
	c := <-dialed
	if _, got := segmentOf(t, h.next(time.Second)); got.Flags != wire.ACK {
		t.Fatalf("the handshake ended with %v, want an ACK", got.Flags)
	}
	c.Write([]byte("x")) //nolint:errcheck // the frame tells
	about := h.next(time.Second)
	return c, h, about[:28]
}

// A connection cannot be dialed to a broadcast or multicast address (RFC 9293, section 3.9.2.3).
func TestDialingAGroupAddressIsRejected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := bare(t, Config{})
		for _, to := range []string{"10.0.0.255:80", "255.255.255.255:80", "224.0.0.1:80", "240.0.0.1:80"} {
			if _, err := s.Dial("tcp", to); !errors.Is(err, syscall.ENETUNREACH) {
				t.Errorf("dialing the group address %s: got error %v, want ENETUNREACH", to, err)
			}
		}
		listen(t, s, ":80")
		dial(t, s, "tcp", "0.0.0.0:80") // as in package net: the host itself
	})
}

// Initial sequence numbers of a tuple rise by one each 4 us. Tuples and stacks start at different
// numbers (RFC 6528). Timestamps start at a number of the two hosts (RFC 7323, section 5.4).
func TestInitialSequenceNumbersDependOnTheTuple(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := bare(t, Config{})
		other, _ := bare(t, Config{})
		name := func(port uint16) tuple {
			return tuple{netip.AddrPortFrom(stackAddr, port), netip.AddrPortFrom(bareAddr, 80)}
		}
		first, stamp := s.initialSeq(name(5000))
		time.Sleep(time.Second)
		if later, again := s.initialSeq(name(5000)); later.Sub(first) != 250_000 || again != stamp {
			t.Errorf("a second later: got a sequence number higher by %d and timestamps from %d on, want 250000 (RFC 9293, section 3.4.1) and %d", later.Sub(first), again, stamp)
		}
		if b, again := s.initialSeq(name(5001)); b.Sub(first) == 250_000 || again != stamp {
			t.Errorf("another tuple: got a sequence number higher by %d and timestamps from %d on, want another distance (RFC 6528) and %d", b.Sub(first), again, stamp)
		}
		if b, _ := other.initialSeq(name(5000)); b.Sub(first) == 250_000 {
			t.Error("another stack starts at the same sequence number, want one from its own secret (RFC 6528)")
		}
	})
}

// Several listeners may share a port, each at an address of its own, and beside connections that
// are being opened from that port (RFC 9293, section 3.9.1.1).
func TestListenersAtSeveralAddressesShareAPort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := bare(t, Config{})
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1) // from the dialing goroutine, one
		go func() {
			_, err := (&Dialer{Stack: s, LocalAddr: netip.MustParseAddrPort("10.0.0.1:80")}).DialContext(ctx, "tcp", "10.0.0.9:9")
			failed <- err
		}()
		synctest.Wait() // in SYN-SENT: nothing answers
		for _, at := range []string{"10.0.0.1:80", "127.0.0.1:80", "[::1]:80"} {
			listen(t, s, at)
		}
		for _, at := range []string{"10.0.0.1:80", "127.0.0.1:80", "[::1]:80"} {
			dial(t, s, "tcp", at)
			if l := s.listeners.lookup(netip.MustParseAddrPort(at)); l == nil || l.Addr().String() != at {
				t.Errorf("%s is taken by %v, want %s", at, l, at)
			}
		}
		cancel()
		<-failed
	})
}

// Ephemeral ports are random numbers of the dynamic range (RFC 6056, section 3.3.1, and RFC 6335).
func TestEphemeralPortsAreRandom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := bare(t, Config{})
		one, halves := 0, map[bool]int{}
		for last, n := 0, 0; n < 100; n++ {
			port := listen(t, s, ":0").Addr().(*net.TCPAddr).Port
			if port < firstPort {
				t.Fatalf("got the ephemeral port %d, want at least %d", port, firstPort)
			}
			if port == last+1 {
				one++
			}
			last = port
			halves[port < firstPort+portCount/2]++
		}
		if one > 5 || halves[true] < 20 || halves[false] < 20 {
			t.Errorf("of 100 ports %d follow the one before, %d are in the lower half and %d in the upper; want at most 5, and at least 20 in each half", one, halves[true], halves[false])
		}
	})
}

// A single fragment that arrives while the stack is idle times out, with both concurrency models.
func TestLoneFragmentsAreFreed(t *testing.T) {
	for _, run := range []Run{RunChain, RunNetwork} {
		synctest.Test(t, func(t *testing.T) {
			s, h := bare(t, Config{Run: run})
			for range 20 {
				time.Sleep(10 * time.Minute)
				h.send(wire.IPv4Fields{Protocol: wire.UDPProtocol, MoreFragments: true, FragmentOffset: 8}, make([]byte, 8))
				time.Sleep(time.Minute)
				if held := s.unfinished(); held != 0 {
					t.Fatalf("%s: the stack holds %d bytes of fragments a minute later, want 0", run, held)
				}
			}
		})
	}
}
