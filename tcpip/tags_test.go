package tcpip

import (
	"testing"
	"testing/synctest"
	"time"

	"weir/tcpip/link"
	"weir/wire"
)

// A frame of a VLAN is not for this host; one with a priority tag is (IEEE 802.1Q).
func TestPriorityTagsAreAnsweredVLANsAreNot(t *testing.T) {
	for _, c := range []struct {
		tag   wire.Tag
		taken bool
	}{{wire.NewTag(5, false, 0), true}, {wire.NewTag(0, true, 0), true}, {wire.NewTag(5, false, 7), false}} {
		synctest.Test(t, func(t *testing.T) {
			_, h := bare(t, Config{})
			echo := wire.AppendICMP(nil, wire.EchoRequest, 0, wire.EchoHeader(1, 2), []byte("hello"))
			f := wire.IPv4Fields{TTL: 64, Protocol: wire.ICMPv4Protocol, Src: bareAddr, Dst: stackAddr, Payload: len(echo)}
			h.q.Write(&link.Parts{Head: wire.AppendIPv4(wire.AppendTagged(nil, h.stack, h.mac, c.tag, wire.TypeIPv4), &f), Body: [2][]byte{echo}})
			if v := h.next(5 * time.Second); (v != nil) != c.taken {
				t.Errorf("a tag of %#x: got answered %t, want %t", uint16(c.tag), v != nil, c.taken)
			}
			if n := h.drops()[DropFrame]; (n == 0) != c.taken {
				t.Errorf("a tag of %#x: got %d frames dropped, want answered %t", uint16(c.tag), n, c.taken)
			}
		})
	}
}
