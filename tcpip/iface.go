package tcpip

import (
	"net/netip"
	"sync"

	"weir/tcpip/link"
	"weir/tcpip/neigh"
	"weir/tcpip/tcp"
	"weir/wire"
)

// iface is a link with the stack's addresses on it.
type iface struct {
	// Immutable.
	s     *Stack
	name  string
	link  link.Link
	caps  link.Caps
	addrs []netip.Prefix
	lanes []*lane
	local bool // the loopback: everybody on it is the stack
	tcp   tcp.Config

	mu        sync.Mutex
	neigh     neigh.Table
	unreached [][]byte // frames whose neighbour did not answer; at most unreachedMost
}

func newIface(s *Stack, name string, l link.Link, addrs []netip.Prefix) *iface {
	i := &iface{s: s, name: name, link: l, caps: l.Caps(), addrs: addrs, local: name == "lo"}
	i.tcp = s.cfg.TCP
	i.tcp.MSS = i.caps.MTU - wire.IPv4Header - wire.TCPHeader
	i.tcp.Superframe = max(0, i.caps.Superframe-wire.IPv4Header-wire.TCPHeaderLargest)
	i.tcp.Memory = &s.budget
	i.tcp = i.tcp.WithDefaults()
	i.neigh.MAC, i.neigh.Addr = i.caps.MAC, addrs[0].Addr()
	for q := range i.caps.Queues {
		i.lanes = append(i.lanes, &lane{s: s, iface: i, q: l.Queue(q)})
	}
	return i
}

func (i *iface) has(a netip.Addr) bool {
	for _, own := range i.addrs {
		if own.Addr() == a {
			return true
		}
	}
	return false
}

// takes says whether a packet for an address is for the stack when it comes here: for one of its addresses, or for everybody.
func (i *iface) takes(a netip.Addr) bool {
	return i.has(a) || i.local && i.s.owns(a) || i.broadcast(a)
}

// broadcast says whether an address is everybody's on this link (RFC 1122, section 3.2.1.3).
func (i *iface) broadcast(a netip.Addr) bool {
	if a == netip.AddrFrom4([4]byte{255, 255, 255, 255}) {
		return true
	}
	for _, own := range i.addrs {
		if own.Bits() < 31 && own.Contains(a) && last(own) == a {
			return true
		}
	}
	return false
}

// last is the last address of a network.
func last(p netip.Prefix) netip.Addr {
	b := p.Addr().As4()
	for bit := p.Bits(); bit < 32; bit++ {
		b[bit/8] |= 0x80 >> (bit % 8)
	}
	return netip.AddrFrom4(b)
}

// source is the address to speak to a neighbour from.
func (i *iface) source(hop netip.Addr) netip.Addr {
	for _, own := range i.addrs {
		if own.Contains(hop) {
			return own.Addr()
		}
	}
	return i.addrs[0].Addr()
}

// resolve finds a neighbour's hardware address. When it is not known yet, a copy of the frame waits for it, and ok is false.
func (i *iface) resolve(l *lane, hop netip.Addr, p *link.Parts) (mac wire.MAC, ok bool) {
	if i.local {
		return i.caps.MAC, true
	}
	now := neigh.Time(i.s.now())
	i.mu.Lock()
	defer i.mu.Unlock()
	if n, ok := i.neigh.Lookup(hop, now); ok {
		i.neigh.Used(n, now)
		return n.MAC, true
	}
	i.neigh.Wait(hop, completed(p), now, actions{l})
	l.look() // when to ask again
	return wire.MAC{}, false
}

// completed is a frame as it is on a wire, without what a device would do: who waits for a neighbour is small.
func completed(p *link.Parts) []byte {
	b := p.AppendTo(nil)
	if p.Partial {
		at := p.Start + p.Offset
		sum := wire.Sum{}.Add(b[p.Start:]).Checksum()
		b[at], b[at+1] = byte(sum>>8), byte(sum)
	}
	return b
}
