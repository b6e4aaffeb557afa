package nat

import "net/netip"

// flowCounts has the number of flows of each host on the link, and of each client outside.
type flowCounts struct {
	limit   int // of all together
	open    int // all flows
	outside int // those of clients outside
	of      map[netip.Addr]int
}

// outsideZone is the zone of clients outside, which tells them from hosts with the same address.
const outsideZone = "outside"

// outsideClient returns what stands for a client of a published port. One client may have all
// addresses of an IPv6 network of 64 bits.
func outsideClient(a netip.Addr) netip.Addr {
	if a = a.Unmap(); a.Is6() {
		p, _ := a.WithZone("").Prefix(64) // 64 is a valid length for IPv6
		a = p.Addr()
	}
	return netip.AddrFrom16(a.As16()).WithZone(outsideZone)
}

// add counts a flow, and reports whether there is room for it. All clients outside have half of the
// limit at most: there is no end of them, and the hosts on the link must not be shut out.
func (f *flowCounts) add(a netip.Addr) bool {
	left := f.limit - f.open
	if left <= 0 || f.of[a] >= left {
		return false
	}
	if a.Zone() == outsideZone {
		if f.outside >= (f.limit+1)/2 {
			return false
		}
		f.outside++
	}
	f.open++
	f.of[a]++
	return true
}

// remove ends a flow that add counted.
func (f *flowCounts) remove(a netip.Addr) {
	if a.Zone() == outsideZone {
		f.outside--
	}
	f.open--
	if f.of[a]--; f.of[a] == 0 {
		delete(f.of, a)
	}
}

// begin counts a flow of a host or of a client outside, and reports whether there is room for it.
func (n *NAT) begin(a netip.Addr) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.ended && n.flows.add(a)
}

// end ends a flow that begin counted.
func (n *NAT) end(a netip.Addr) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.flows.remove(a)
}
