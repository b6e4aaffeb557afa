package tcpip

import (
	"errors"
	"maps"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"weir/wire"
)

// Every raw socket of a protocol receives every packet of it. While there is one, no Protocol
// Unreachable is sent.
func TestRawSocketsReceiveTheirProtocol(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, h := bare(t, Config{})
		first, err := s.ListenIP(99)
		if err != nil {
			t.Fatal(err)
		}
		second, err := s.ListenIP(99)
		if err != nil {
			t.Fatal(err)
		}
		h.send(wire.IPv4Fields{Protocol: 99}, []byte("packet"))
		for _, c := range []*PacketConn{first, second} {
			p := make([]byte, 100)
			if n, from, err := c.ReadFrom(p); err != nil || string(p[:n]) != "packet" || from.String() != "10.0.0.9" {
				t.Errorf("got %q from %v, error %v; want %q from 10.0.0.9 at every raw socket of the protocol", p[:n], from, err, "packet")
			}
		}
		second.Close()
		if v := h.next(time.Second); v != nil || len(h.drops()) != 0 {
			t.Errorf("got the answer % x and drops %v, want neither while a raw socket is open", []byte(v), h.drops())
		}
		for range 3 { // larger packets are fragmented and reassembled
			if _, err := first.WriteTo(make([]byte, 4000), &net.IPAddr{IP: net.IPv4(10, 0, 0, 9)}); err != nil {
				t.Fatal(err)
			}
		}
		if v := h.next(time.Second); v == nil || v.Protocol() != 99 || !v.MoreFragments() {
			t.Errorf("a payload of 4000 bytes: got the packet % x, want a first fragment of protocol 99", []byte(v))
		}
		first.Close()
		h.send(wire.IPv4Fields{Protocol: 99}, []byte("unread"))
		synctest.Wait()
		if got := h.drops(); !maps.Equal(got, map[Drop]uint64{DropProtocol: 1}) {
			t.Errorf("without a raw socket: got drops %v, want one of %v", got, DropProtocol)
		}
	})
}

// Raw sockets of UDP, TCP and ICMP receive copies; the stack's own sockets receive theirs.
func TestRawSocketsReceiveKnownProtocolsToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, h := bare(t, Config{})
		raw, err := s.ListenIP(wire.UDPProtocol)
		if err != nil {
			t.Fatal(err)
		}
		defer raw.Close()
		u, err := s.ListenPacket("udp", ":53")
		if err != nil {
			t.Fatal(err)
		}
		defer u.Close()
		h.send(wire.IPv4Fields{Protocol: wire.UDPProtocol}, datagramTo(53, "both"))
		p := make([]byte, 100)
		if n, _, err := u.ReadFrom(p); err != nil || string(p[:n]) != "both" {
			t.Errorf("the UDP socket: got %q, error %v; want %q though a raw socket has its protocol", p[:n], err, "both")
		}
		if n, _, err := raw.ReadFrom(p); err != nil || n != wire.UDPHeader+4 {
			t.Errorf("the raw socket: got %d bytes, error %v; want the %d bytes of the whole datagram", n, err, wire.UDPHeader+4)
		}
	})
}

func TestRawSocketsRejectInvalidPackets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := bare(t, Config{})
		ip, err := s.ListenIP(99)
		if err != nil {
			t.Fatal(err)
		}
		ether, err := s.ListenEther(0x88b5)
		if err != nil {
			t.Fatal(err)
		}
		host, mac := &net.IPAddr{IP: net.IPv4(10, 0, 0, 9)}, EtherAddr{MAC: wire.Broadcast}
		if _, err := ip.WriteTo(make([]byte, 65516), host); !errors.Is(err, syscall.EMSGSIZE) {
			t.Errorf("a payload of 65516 bytes: got error %v, want EMSGSIZE: an IPv4 packet carries 65515", err)
		}
		if _, err := ether.WriteTo(make([]byte, 1501), mac); !errors.Is(err, syscall.EMSGSIZE) {
			t.Errorf("a payload of 1501 bytes: got error %v, want EMSGSIZE: a frame carries 1500", err)
		}
		if _, err := ip.WriteTo(nil, mac); err == nil {
			t.Error("an IP socket accepted an EtherAddr, want an error")
		}
		if _, err := ether.WriteTo(nil, host); err == nil {
			t.Error("a frame socket accepted an IP address, want an error")
		}
		if _, err := s.ListenEther(1500); err == nil {
			t.Error("ListenEther accepted 1500, a frame length, want an error: EtherTypes start at 1536")
		}
		for _, c := range []*PacketConn{ip, ether} {
			if err := c.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
				t.Error(err)
			}
			if _, _, err := c.ReadFrom(nil); !errors.Is(err, syscall.ETIMEDOUT) && !isTimeout(err) {
				t.Errorf("reading without packets: got %v, want a timeout", err)
			}
			c.Close()
			if _, err := c.WriteTo(nil, host); !errors.Is(err, net.ErrClosed) {
				t.Errorf("after Close: got %v, want net.ErrClosed", err)
			}
			if err := c.Close(); !errors.Is(err, net.ErrClosed) {
				t.Errorf("the second Close: got %v, want net.ErrClosed", err)
			}
		}
	})
}

func isTimeout(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Timeout()
}

// An unread raw socket has a limited queue, and counts what it drops.
func TestAnUnreadRawSocketDrops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, h := bare(t, Config{})
		c, err := s.ListenIP(99)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		const each = 1400
		for range 1000 {
			h.send(wire.IPv4Fields{Protocol: 99}, make([]byte, each))
			synctest.Wait()
		}
		waiting, bytes, dropped := c.usage()
		if most := maxSenderBytes / (each + 64); waiting != most || bytes > maxSenderBytes || int(dropped) != 1000-most || h.drops()[DropSocketFull] != dropped {
			t.Errorf("got %d packets of %d bytes waiting, %d dropped and the counters %v; want %d waiting in at most %d bytes, the others dropped and counted", waiting, bytes, dropped, h.drops(), most, maxSenderBytes)
		}
	})
}
