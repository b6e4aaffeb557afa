package tcpip

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"weir/tcpip/link"
	"weir/wire"
)

// claimLinkLocals answers the first probes for link-local addresses as if another host had them,
// until the link is closed.
func claimLinkLocals(l link.Link, duplicates int) {
	batch, answered := make([]link.Frame, 8), map[netip.Addr]bool{}
	for {
		n, err := l.Queue(0).Read(batch, -1)
		if err != nil {
			return
		}
		for _, f := range batch[:n] {
			p, fault := wire.ParseIPv6(f.Bytes[link.Ethernet.HeaderLen():])
			if fault != wire.OK || !p.Src().IsUnspecified() || p.NextHeader() != wire.ICMPv6Protocol {
				continue
			}
			m, _ := wire.ParseICMPv6(p.Payload())
			probe, fault := wire.ParseNeighbour(m)
			if fault != wire.OK || m.Type() != wire.NeighbourSolicit || !probe.Target.IsLinkLocalUnicast() || len(answered) >= duplicates && !answered[probe.Target] {
				continue
			}
			answered[probe.Target] = true
			answer := wire.Neighbour{Target: probe.Target, Override: true, Options: wire.AppendLinkAddr(nil, wire.TargetLinkAddr, routerMAC)}
			message := wire.AppendNeighbour(nil, probe.Target, allNodes, wire.NeighbourAdvert, &answer)
			b := wire.AppendEthernet(nil, wire.MAC{0x33, 0x33, 5: 1}, routerMAC, wire.TypeIPv6)
			b = wire.AppendIPv6(b, &wire.IPv6Fields{NextHeader: wire.ICMPv6Protocol, HopLimit: wire.NDPHopLimit, Src: probe.Target, Dst: allNodes, Payload: len(message)})
			l.Queue(0).Write(&link.Parts{Head: b, Body: [2][]byte{message}})
		}
	}
}

// RFC 4862, section 5.4.4: an advertisement of a tentative address shows that it is a duplicate,
// also if it comes from that address. Nothing replaces one that the program has configured.
func TestAConfiguredLinkLocalAddressIsNotReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		la, lb := link.Pair(link.PairConfig{})
		defer lb.Close()
		go claimLinkLocals(lb, 1)
		s := stack(t, Config{Link: la, Addrs: prefixes("fe80::5/64")})
		time.Sleep(10 * time.Second)
		if own := s.ifaces[0].ownAddrs.Load().v6; len(own) != 0 {
			t.Errorf("got the addresses %v, want none", own)
		}
	})
}
