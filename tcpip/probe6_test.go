package tcpip

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"weir/tcpip/link"
	"weir/wire"
)

// RFC 7527, section 4: a link that sends frames back, as one with a loop does, does not make an
// address a duplicate. The nonce tells such a probe from that of another host.
func TestProbesThatTheLinkSendsBackAreNoConflict(t *testing.T) {
	for name, changed := range map[string]bool{"the same nonce": false, "another nonce": true} {
		synctest.Test(t, func(t *testing.T) {
			la, lb := link.Pair(link.PairConfig{})
			defer lb.Close()
			s := stack(t, Config{Link: la, Addrs: prefixes("2001:db8::1/64")})
			frames, probes := make([]link.Frame, 1), 0
			for end := time.Now().Add(500 * time.Millisecond); time.Now().Before(end); {
				if n, err := lb.Queue(0).Read(frames, time.Until(end)); n == 0 || err != nil {
					continue
				}
				frame := append([]byte(nil), frames[0].Bytes...)
				p, _ := wire.ParseIPv6(wire.Ethernet(frame).Payload())
				if m, _ := wire.ParseICMPv6(p.Payload()); p.NextHeader() != wire.ICMPv6Protocol || m.Type() != wire.NeighbourSolicit {
					continue
				}
				probes++
				if changed { // a probe of another host
					n, _ := wire.ParseNeighbour(wire.ICMPv6(p.Payload()))
					n.Options = wire.AppendNonce(nil, [6]byte{1})
					frame = append(frame[:wire.EthernetHeader+wire.IPv6Header:wire.EthernetHeader+wire.IPv6Header], wire.AppendNeighbour(nil, p.Src(), p.Dst(), wire.NeighbourSolicit, &n)...)
					copy(frame[6:], routerMAC[:])
				}
				lb.Queue(0).Write(&link.Parts{Head: frame})
			}
			time.Sleep(5 * time.Second)
			if owns := s.owns(netip.MustParseAddr("2001:db8::1")); owns == changed || probes == 0 {
				t.Errorf("%d probes came back with %s: the stack has its address: %t, want %t", probes, name, owns, !changed)
			}
		})
	}
}
