package tcpip

import (
	"encoding/binary"
	"net/netip"
	"syscall"
	"time"

	"weir/tcpip/icmp"
	"weir/tcpip/ip"
	"weir/tcpip/link"
	"weir/tcpip/neigh"
	"weir/wire"
)

// neighActions implements neigh.Actions. The lock of the interface, which guards its neighbour
// table, is held during each call.
type neighActions struct{ l *reader }

// SendRequest implements neigh.Actions.
func (a neighActions) SendRequest(target netip.Addr, at wire.MAC) {
	if src := a.l.iface.sourceFor(target); src.IsValid() {
		a.l.sendARP(wire.ARPRequest, at, src, wire.MAC{}, target)
	}
}

// SendQueued implements neigh.Actions.
func (a neighActions) SendQueued(n *neigh.Neighbour, frame []byte) {
	copy(frame, n.MAC[:])
	if !a.l.queue.Write(&link.Parts{Head: frame}) {
		a.l.s.drops.add(DropDevice)
	}
}

// sendIP sends a packet of any protocol but TCP, as fragments if necessary. It fills in the source
// address and TTL if they are zero. A frame that the link or the neighbour table drops is counted,
// and is no error, as with Linux.
func (s *Stack) sendIP(f wire.IPv4Fields, payload []byte) error {
	i, hop, src, ok := s.routeTo(f.Dst)
	if !ok {
		s.drops.add(DropRoute)
		return syscall.ENETUNREACH
	}
	if !f.Src.IsValid() {
		f.Src = src
	}
	if f.TTL == 0 {
		f.TTL = s.cfg.TTL
	}
	mtu, _ := s.pathMTU(f.Dst, i)
	switch length := wire.IPv4Header + len(f.Options) + len(payload); {
	case length > wire.IPv4Largest, f.DontFragment && length > mtu:
		return syscall.EMSGSIZE
	case !s.owns(f.Src):
		return syscall.EADDRNOTAVAIL // the stack lost it to another host (claims.go)
	}
	if !f.DontFragment {
		f.ID = s.packetID(f.Src, f.Dst)
	}
	a := f.Dst.As4()
	l := i.readerFor(binary.BigEndian.Uint32(a[:]))
	ip.Fragment(f, payload, mtu, func(header, piece []byte) {
		l.counts.sent[payloadKindOf(f.Protocol)].Add(1)
		l.sendFrame(hop, header, piece)
	})
	return nil
}

// sendFrame sends a packet to a neighbour. It reports whether the packet was sent, or waits for the
// neighbour's hardware address.
func (l *reader) sendFrame(hop netip.Addr, header, payload []byte) bool {
	i := l.iface
	out := outgoingPool.Get().(*outgoingFrame)
	defer outgoingPool.Put(out)
	p := &out.Parts
	*p = link.Parts{Body: [2][]byte{payload}, Head: append(wire.AppendEthernet(out.headers[:0], wire.Broadcast, i.caps.MAC, wire.TypeIPv4), header...)}
	if !i.isBroadcast(hop) {
		mac, ok := i.resolve(l, hop, hop != wire.IPv4(header).Dst(), p)
		if !ok {
			return true
		}
		copy(p.Head, mac[:])
	}
	if !l.queue.Write(p) {
		l.s.drops.add(DropDevice)
		return false
	}
	return true
}

// packetID returns the Identification of a packet that may be fragmented. Values repeat as late as
// possible between two hosts, and reveal nothing about packets to others (RFC 7739, section 5.3,
// and RFC 6274, section 3.5.2.1).
func (s *Stack) packetID(src, dst netip.Addr) uint16 {
	a, b := src.As4(), dst.As4()
	var name [8]byte
	copy(name[:], a[:])
	copy(name[4:], b[:])
	h := siphash(&s.secret, name[:])
	return uint16(h>>48) + uint16(s.packetIDs[h%uint64(len(s.packetIDs))].Add(1))
}

// sendICMPError sends an ICMP error about a packet, unless the RFCs or the rate limit forbid it.
func (s *Stack) sendICMPError(about wire.IPv4, broadcast bool, t wire.ICMPType, code uint8, rest uint32) {
	quote, ok := icmp.Quote(about, broadcast)
	if !ok || !s.owns(about.Dst()) {
		return
	}
	to := about.Src().As4()
	now := time.Duration(s.now())
	s.errorsMu.Lock()
	ok = s.errorShares.Allow(siphash(&s.secret, to[:]), now) && s.errorLimiter.Allow(now)
	s.errorsMu.Unlock()
	if !ok {
		return
	}
	message := wire.AppendICMP(nil, t, code, rest, quote)
	s.sendIP(wire.IPv4Fields{Protocol: wire.ICMPv4Protocol, Src: about.Dst(), Dst: about.Src()}, message) //nolint:errcheck // it is counted
}
