package tcpip

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"weir/tcpip/link"
	"weir/wire"
)

// A request from a martian address is not answered and not learnt. One from another network is
// answered and not learnt.
func TestARPLearnsOnlyFromHostsOnTheLink(t *testing.T) {
	for sender, want := range map[string]struct{ learnt, answered bool }{
		"10.0.0.7":        {true, true},
		"10.0.0.255":      {false, false}, // the broadcast address
		"10.0.0.0":        {false, false}, // the address of the network
		"255.255.255.255": {false, false},
		"224.0.0.1":       {false, false},
		"240.0.0.1":       {false, false},
		"127.0.0.1":       {false, false},
		"0.0.0.1":         {false, false},
		"0.0.0.0":         {false, true}, // a probe (RFC 5227)
		"192.0.2.1":       {false, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, h := bare(t, Config{})
			time.Sleep(time.Minute) // after its own announcements
			frames := make([]link.Frame, 32)
			for n := 1; n > 0; {
				n, _ = h.q.Read(frames, time.Millisecond)
			}
			h.q.Write(&link.Parts{Head: wire.AppendARP(wire.AppendEthernet(nil, wire.Broadcast, h.mac, wire.TypeARP), wire.ARPRequest, h.mac, netip.MustParseAddr(sender), wire.MAC{}, stackAddr)})
			n, err := h.q.Read(frames, time.Millisecond)
			if err != nil {
				t.Fatal(err)
			}
			if answered := n > 0; answered != want.answered {
				t.Errorf("a request from %s: answered %t, want %t", sender, answered, want.answered)
			}
			if learnt := len(s.Neighbours()) > 0; learnt != want.learnt {
				t.Errorf("a request from %s: learnt %t, want %t", sender, learnt, want.learnt)
			}
		})
	}
}
