package tcpip

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"weir/tcpip/link"
	"weir/tcpip/ndp"
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

// RFC 4862, section 5.4.5, and RFC 7217, section 6: a link-local address that another host has is
// replaced by the next one of the stable scheme, at most twice, and reported.
func TestADuplicateLinkLocalAddressIsReplaced(t *testing.T) {
	for duplicates := range 5 {
		for _, probe := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				la, lb := link.Pair(link.PairConfig{})
				defer lb.Close()
				go claimLinkLocals(lb, duplicates)
				lost := make(chan Conflict, 10) // OnConflict -> the test; never closed
				s, err := New(Config{Link: la, Addrs: prefixes("2001:db8::1/64"), ProbeAddrs: probe, OnConflict: func(c Conflict) { lost <- c }})
				if probe && (err != nil) != (duplicates >= 3) {
					t.Fatalf("%d duplicates, probed: New returned %v, want an error only if all three are", duplicates, err)
				}
				if err != nil {
					return
				}
				defer s.Close()
				time.Sleep(10 * time.Second)
				if want := min(duplicates, 3); len(lost) != want {
					t.Errorf("%d duplicates: got %d conflicts, want %d", duplicates, len(lost), want)
				}
				want := "none"
				if duplicates < 3 {
					want = ndp.StableAddr(linkLocalNet, "link", byte(duplicates), s.ifaces[0].caps.MAC[:]).String()
				}
				got := "none"
				for _, a := range s.ifaces[0].ownAddrs.Load().v6 {
					if a.IsLinkLocalUnicast() {
						got = a.WithZone("").String()
					}
				}
				if got != want {
					t.Errorf("%d duplicates, probed: %t: got the link-local address %s, want %s", duplicates, probe, got, want)
				}
			})
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
