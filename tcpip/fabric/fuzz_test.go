package fabric

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"weir/tcpip/link"
	"weir/wire"
)

// Updated checksums are those that a computation over the whole packet would yield: of UDP, TCP and
// echoes of any length, translated outward and inward, and of the errors that quote them.
func TestTranslatedChecksumsAreThoseOfTheWholePacket(t *testing.T) {
	addr := rapid.Custom(func(t *rapid.T) netip.Addr {
		return netip.AddrFrom4([4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "bytes")))
	})
	port := rapid.Uint16Range(1, 65535)
	rapid.Check(t, func(t *rapid.T) {
		inside, peer, outside := addr.Draw(t, "inside"), addr.Draw(t, "peer"), addr.Draw(t, "outside")
		nat := newTranslator(NATConfig{}.withDefaults(), outside, netip.Addr{})
		src, dst := netip.AddrPortFrom(inside, port.Draw(t, "port")), netip.AddrPortFrom(peer, port.Draw(t, "peer's port"))
		kind := rapid.SampledFrom([]string{"udp", "udp without checksum", "tcp", "echo"}).Draw(t, "kind")
		b := drawnPacket(kind, src, dst, rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "payload"))
		original := bytes.Clone(b)
		nat.lastPort = port.Draw(t, "last port")
		taken := outsidePort{wire.Protocol(b[9]), src.Port()} // so that the port changes
		nat.byPort[taken] = &mapping{published: true}
		now := time.Unix(0, 0)
		if !nat.outward(now, b) {
			t.Fatalf("outward: got no translation of %s", describe(original))
		}
		requireValid(t, b)
		if back := nat.restored(now, b); !bytes.Equal(back[:8], original[:8]) || describe(back) != describe(original) {
			t.Fatalf("restored: got %s, want %s", describe(back), describe(original))
		}
		e := errorTo(outside, peer, b, problem{type4: wire.Unreachable, code4: wire.FragmentationNeeded, mtu: 1400})
		if !nat.inward(now, e, peer) {
			t.Fatalf("inward: got no translation of %s", describe(e))
		}
		requireValid(t, e)
		reply := reversed(b)
		requireValid(t, reply)
		if !nat.inward(now, reply, peer) {
			t.Fatalf("inward: got no translation of %s", describe(reply))
		}
		requireValid(t, reply)
		e = errorTo(peer, inside, reply, problem{type4: wire.Unreachable, code4: 3})
		if !nat.outward(now, e) {
			t.Fatalf("outward: got no translation of %s", describe(e))
		}
		requireValid(t, e)
	})
}

// requireValid requires that all checksums of a packet are right.
func requireValid(t *rapid.T, b []byte) {
	t.Helper()
	if text := describe(b); bytes.Contains([]byte(text), []byte("checksum")) {
		t.Fatalf("got %s, want right checksums", text)
	}
}

// drawnPacket is a packet with a payload.
func drawnPacket(kind string, src, dst netip.AddrPort, payload []byte) []byte {
	f := wire.IPv4Fields{ID: 77, TTL: 64, Src: src.Addr(), Dst: dst.Addr()}
	switch kind {
	case "tcp":
		f.Protocol, f.Payload = wire.TCPProtocol, wire.TCPHeader+len(payload)
		b := wire.AppendTCP(wire.AppendIPv4(nil, &f), &wire.TCPFields{Src: src, Dst: dst, Flags: wire.ACK}, payload)
		if len(b) < 20+f.Payload {
			b = append(b, payload...)
		}
		return b
	case "echo":
		f.Protocol, f.Payload = wire.ICMPv4Protocol, wire.ICMPHeader+len(payload)
		return wire.AppendICMP(wire.AppendIPv4(nil, &f), wire.EchoRequest, 0, wire.EchoHeader(src.Port(), 1), payload)
	}
	f.Protocol, f.Payload = wire.UDPProtocol, wire.UDPHeader+len(payload)
	b := append(wire.AppendUDP(wire.AppendIPv4(nil, &f), src, dst, payload), payload...)
	if kind != "udp" {
		b[26], b[27] = 0, 0
	}
	return b
}

// reversed is a packet back from its destination. Exchanging the ends changes no checksum, and that
// of an echo is computed again.
func reversed(b []byte) []byte {
	b = bytes.Clone(b)
	var src [4]byte
	copy(src[:], b[12:])
	copy(b[12:], b[16:20])
	copy(b[16:], src[:])
	if wire.Protocol(b[9]) == wire.ICMPv4Protocol {
		body := bytes.Clone(b[28:])
		return wire.AppendICMP(b[:20], wire.EchoReply, 0, binary.BigEndian.Uint32(b[24:]), body)
	}
	port := binary.BigEndian.Uint16(b[20:])
	copy(b[20:], b[22:24])
	binary.BigEndian.PutUint16(b[22:], port)
	return b
}

// TestUpdatesOfAChecksumEqualItsComputation: RFC 1624, equation 3, for all words.
func TestUpdatesOfAChecksumEqualItsComputation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.Byte(), 20, 20).Draw(t, "header")
		b[10], b[11] = 0, 0
		binary.BigEndian.PutUint16(b[10:], wire.Sum{}.Add(b).Checksum())
		at := 2 * rapid.SampledFrom([]int{0, 1, 2, 3, 4, 6, 7, 8, 9}).Draw(t, "word")
		replaceWord(b[at:], rapid.Uint16().Draw(t, "value"), b[10:12])
		if !(wire.Sum{}.Add(b).OK()) {
			t.Fatalf("got the checksum %x of %x, want one that is right", b[10:12], b)
		}
	})
}

// No packet of a hostile host makes the network panic or stop, and each packet that is sent is
// delivered or dropped.
func FuzzHostilePackets(f *testing.F) {
	for _, b := range [][]byte{
		{0}, {0x45}, {0x60}, bytes.Repeat([]byte{0x4f}, 60), bytes.Repeat([]byte{0x60}, 40),
		udp("192.168.2.2:5", "10.0.0.1:7"), tcp("192.168.2.2:5", "10.0.0.1:7"), echo("192.168.2.2", "10.0.0.1", 5), echo("fd00::1", "fd00::2", 5),
		udp("192.168.2.2:5", "255.255.255.255:7"), udp("192.168.2.2:5", "192.168.2.2:7"), udp("10.0.0.1:5", "10.0.0.1:7"),
		datagram{from: "192.168.2.2:5", to: "10.0.0.1:7", length: 1200}.bytes(), datagram{from: "192.168.2.2:5", to: "10.0.0.1:7", length: 1200, df: true}.bytes(),
		errorTo(netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("192.168.2.2"), udp("10.0.0.1:7", "192.168.2.2:5"), expired),
	} {
		f.Add(b, true)
		f.Add(b, false)
	}
	f.Fuzz(func(t *testing.T, b []byte, ordered bool) {
		synctest.Test(t, func(t *testing.T) { attack(t, b, ordered) })
	})
}

// attack writes a packet by hosts at all places of a network.
func attack(t *testing.T, b []byte, ordered bool) {
	sent, ended := map[uint64]bool{}, map[uint64]bool{}
	observe := func(e Event) {
		if e.Kind == EventSent {
			sent[e.Number] = true
		} else {
			ended[e.Number] = true
		}
	}
	l := &lab{t: t, Network: New(Config{Ordered: ordered, Observe: observe})}
	server, r, s := must(t)(l.Host("server")), must(t)(l.Router("r")), must(t)(l.Switch("s"))
	outer := must(t)(l.NAT("outer", NATConfig{OpenFilter: true}))
	inner := must(t)(outer.NAT("inner", NATConfig{}))
	middle, deep := must(t)(outer.HostWith("middle", HostConfig{})), must(t)(inner.HostWith("deep", HostConfig{}))
	l.join(Path{Duplicate: 0.2}, server, s, r, outer)
	l.join(Path{MTU: 600}, outer, inner)
	l.join(Path{MTU: 300}, outer, middle)
	l.join(Path{Corrupt: 0.5}, inner, deep)
	for range 2 {
		for _, n := range []*Node{server, middle, deep} {
			nic := n.Attach()
			defer nic.Close()
			l.links = map[*Node]link.Link{n: nic}
			l.write(n, b)
		}
		time.Sleep(time.Second)
	}
	if err := outer.Publish(7777, middle, 7777); err != nil && len(b) == 0 {
		t.Error(err)
	}
	for n := range sent {
		if !ended[n] {
			t.Errorf("packet %d was neither delivered nor dropped, want one of these", n)
		}
	}
	l.Close()
}
