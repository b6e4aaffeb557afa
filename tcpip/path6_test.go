package tcpip

import (
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"weir/tcpip/link"
	"weir/wire"
)

// connected6 returns an established connection of the stack to the host.
func connected6(t *testing.T, s *Stack, h *bareHost6) net.Conn {
	t.Helper()
	conns := make(chan net.Conn, 1) // the one
	go func() {
		c, err := s.Dial("tcp", "[2001:db8::9]:80")
		if err != nil {
			t.Error(err)
		}
		conns <- c
	}()
	v := h.next(time.Second)
	syn, fault := wire.ParseTCP(v.Payload())
	if v.NextHeader() != wire.TCPProtocol || fault != wire.OK {
		t.Fatalf("got the packet % x, want a SYN", []byte(v))
	}
	f := wire.TCPFields{Src: netip.AddrPortFrom(bareAddr6, 80), Dst: netip.AddrPortFrom(stackAddr6, syn.SrcPort()), Seq: 1000, Ack: syn.Seq().Add(1), Flags: wire.SYN | wire.ACK, Window: 65535,
		Options: (&wire.TCPOptions{MSS: 1440}).Append(nil)}
	h.send(wire.MAC{}, wire.IPv6Fields{NextHeader: wire.TCPProtocol}, wire.AppendTCP(nil, &f))
	h.next(time.Second) // its ACK
	return <-conns
}

// A Packet Too Big limits the path, also if its source, which got a superframe, quotes that; one
// below 1,280 bytes or about something that was not sent does not (RFC 8201, section 4; RFC 5927,
// section 7.2).
func TestIPv6PathsFollowPacketTooBig(t *testing.T) {
	for _, c := range []struct {
		name    string
		on      link.PairConfig
		length  int // of the packet that the message quotes; 0: as it was sent
		reports uint32
		want    int
	}{
		{"segments", link.PairConfig{}, 0, 1300, 1300},
		{"a superframe", link.PairConfig{Superframe: 65535, Checksum: true}, 0, 1300, 1300},
		{"the minimum", link.PairConfig{}, 0, 1280, 1280},
		{"below the minimum", link.PairConfig{}, 0, 1279, 1500},
		{"nothing", link.PairConfig{}, 0, 0, 1500},
		{"no less than was sent", link.PairConfig{}, 0, 1500, 1500},
		{"no less than the link's MTU, about a superframe", link.PairConfig{Superframe: 65535, Checksum: true}, 0, 1500, 1500},
		{"about a packet that is larger than the link", link.PairConfig{}, 1501, 1300, 1500},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, h := bare6On(t, c.on, Config{})
			h.next(5 * time.Second) // duplicate address detection
			conn := connected6(t, s, h)
			if _, err := conn.Write(make([]byte, 3000)); err != nil {
				t.Fatal(err)
			}
			v := h.next(time.Second)
			if superframe := c.on.Superframe > 0; superframe != (len(v) > 1500) {
				t.Fatalf("%s: got a packet of %d bytes, want a superframe: %t", c.name, len(v), superframe)
			}
			quote := append([]byte(nil), v[:min(len(v), 1232)]...)
			if c.length != 0 {
				quote[4], quote[5] = byte((c.length-wire.IPv6Header)>>8), byte(c.length-wire.IPv6Header)
			}
			router := netip.MustParseAddr("2001:db8::99")
			h.send(wire.MAC{}, wire.IPv6Fields{NextHeader: wire.ICMPv6Protocol, Src: router}, wire.AppendICMPv6(nil, router, stackAddr6, wire.PacketTooBig6, 0, c.reports, quote))
			synctest.Wait()
			if mtu, _ := s.pathMTU(bareAddr6, s.ifaces[0]); mtu != c.want {
				t.Errorf("a Packet Too Big of %d bytes about %s: got a path MTU of %d, want %d", c.reports, c.name, mtu, c.want)
			}
		})
	}
}

// The same for IPv4 (RFC 1191).
func TestPTBsAboutSuperframesAreHeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, h := bareOn(t, link.PairConfig{Superframe: 65535, Checksum: true}, Config{})
		if _, err := connected(t, s, h).Write(make([]byte, 3000)); err != nil {
			t.Fatal(err)
		}
		v := h.next(time.Second)
		h.send(wire.IPv4Fields{Protocol: wire.ICMPv4Protocol}, errorAbout(wire.FragmentationNeeded, 1000, v[:28]))
		synctest.Wait()
		if mtu, _ := s.pathMTU(bareAddr, s.ifaces[0]); mtu != 1000 || len(v) <= 1500 {
			t.Errorf("a Packet Too Big of 1000 bytes about a packet of %d: got a path MTU of %d, want 1000", len(v), mtu)
		}
	})
}

// RFC 6437, section 3: all packets of a connection have one flow label, which is not zero, and
// connections have different ones.
func TestConnectionsHaveFlowLabels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, h := bare6(t, Config{})
		h.next(5 * time.Second) // duplicate address detection
		seen := map[uint32]bool{}
		for range 4 {
			c := connected6(t, s, h)
			labels := map[uint32]bool{}
			c.Write(make([]byte, 3000)) //nolint:errcheck // the test checks the packets
			for v := h.next(time.Millisecond); v != nil; v = h.next(time.Millisecond) {
				labels[v.FlowLabel()] = true
				seen[v.FlowLabel()] = true
			}
			if len(labels) != 1 || labels[0] {
				t.Errorf("got the flow labels %v of a connection, want one that is not zero", labels)
			}
			c.(*Conn).SetLinger(0)
			c.Close()
			for h.next(time.Millisecond) != nil { // its RST
			}
		}
		if len(seen) != 4 {
			t.Errorf("got %d flow labels of 4 connections, want 4", len(seen))
		}
	})
}
