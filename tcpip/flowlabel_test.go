package tcpip

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"weir/wire"
)

// RFC 6437, section 3: the datagrams of a flow, their fragments among them, have one flow label,
// which is not zero; so have the echoes with one identifier. Flows have different ones.
func TestDatagramsAndEchoesHaveFlowLabels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, h := bare6(t, Config{})
		h.next(5 * time.Second) // duplicate address detection
		seen := map[uint32]string{}
		check := func(flow string, want int) {
			t.Helper()
			labels := map[uint32]bool{}
			for v := h.next(time.Second); v != nil; v = h.next(time.Second) {
				labels[v.FlowLabel()] = true
				want--
			}
			if len(labels) != 1 || labels[0] || want != 0 {
				t.Errorf("%s: got the flow labels %v, and %d packets too few; want one that is not zero", flow, labels, want)
			}
			for label := range labels {
				if other := seen[label]; other != "" {
					t.Errorf("%s has the flow label of %s, want another one", flow, other)
				}
				seen[label] = flow
			}
		}
		for _, port := range []string{"9", "10"} {
			c := dial(t, s, "udp", "[2001:db8::9]:"+port)
			for _, size := range []int{1, 3000, 1} {
				c.Write(make([]byte, size)) //nolint:errcheck // the test checks the packets
			}
			check("datagrams to port "+port, 5)
		}
		for _, id := range []uint32{1, 2} {
			for range 2 {
				h.send(wire.MAC{}, wire.IPv6Fields{NextHeader: wire.ICMPv6Protocol}, wire.AppendICMPv6(nil, bareAddr6, stackAddr6, wire.EchoRequest6, 0, id<<16, []byte("x")))
			}
			check("echoes", 2)
		}
	})
}

// Labels depend on a secret of the stack, use all 20 bits, and differ for nearly all flows.
func TestFlowLabelsAreKeyed(t *testing.T) {
	a, b := &Stack{secret: [16]byte{1}}, &Stack{secret: [16]byte{2}}
	seen, same, bits := map[uint32]bool{}, 0, uint32(0)
	for port := range 1000 {
		payload := wire.AppendUDP(nil, netip.AddrPortFrom(stackAddr6, uint16(port)), netip.AddrPortFrom(bareAddr6, 9), nil)
		f := outgoingPacket{protocol: wire.UDPProtocol, src: stackAddr6, dst: bareAddr6}
		label := a.flowLabel(&f, payload)
		if label == 0 || label >= 1<<20 {
			t.Errorf("port %d: got the flow label %x, want 1 to fffff", port, label)
		}
		if label == b.flowLabel(&f, payload) {
			same++
		}
		seen[label] = true
		bits |= label
	}
	if len(seen) < 990 || same > 5 || bits != 1<<20-1 {
		t.Errorf("got %d labels of 1000 flows, %d equal with another secret, and the bits %x; want nearly 1000, nearly none, and all", len(seen), same, bits)
	}
}
