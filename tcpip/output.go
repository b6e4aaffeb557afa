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

// actions carries out what a table of neighbours wants. The table's lock is held.
type actions struct{ l *lane }

// Ask implements neigh.Actions.
func (a actions) Ask(target netip.Addr, at wire.MAC) {
	if src := a.l.iface.source(target); src.IsValid() {
		a.l.sendARP(wire.ARPRequest, at, src, wire.MAC{}, target)
	}
}

// Release implements neigh.Actions.
func (a actions) Release(n *neigh.Neighbour, frame []byte) {
	copy(frame, n.MAC[:])
	if !a.l.q.Write(&link.Parts{Head: frame}) {
		a.l.s.drops.add(DropDevice)
	}
}

// sendIP sends a packet of anything but TCP, cut where it has to be. Its source and what the header
// needs are filled in. What the link or the neighbour does not take is counted, and is no error, as
// with Linux.
func (s *Stack) sendIP(f wire.IPv4Fields, payload []byte) error {
	i, hop, src, ok := s.way(f.Dst)
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
	mtu, _ := s.mtu(f.Dst, i)
	switch length := wire.IPv4Header + len(f.Options) + len(payload); {
	case length > wire.IPv4Largest, f.DontFragment && length > mtu:
		return syscall.EMSGSIZE
	case !s.owns(f.Src):
		return syscall.EADDRNOTAVAIL // it was another host's too (claims.go)
	}
	if !f.DontFragment {
		f.ID = s.id(f.Src, f.Dst)
	}
	a := f.Dst.As4()
	l := i.lane(binary.BigEndian.Uint32(a[:]))
	ip.Fragment(f, payload, mtu, func(header, piece []byte) {
		l.counts.went[carries(f.Protocol)].Add(1)
		l.sendFrame(hop, header, piece)
	})
	return nil
}

// sendFrame sends a packet to a neighbour, and says whether it went, or waits for the neighbour.
func (l *lane) sendFrame(hop netip.Addr, header, payload []byte) bool {
	i := l.iface
	out := outgoings.Get().(*outgoing)
	defer outgoings.Put(out)
	p := &out.Parts
	*p = link.Parts{Body: [2][]byte{payload}, Head: append(wire.AppendEthernet(out.head[:0], wire.Broadcast, i.caps.MAC, wire.TypeIPv4), header...)}
	if !i.broadcast(hop) {
		mac, ok := i.resolve(l, hop, hop != wire.IPv4(header).Dst(), p)
		if !ok {
			return true
		}
		copy(p.Head, mac[:])
	}
	if !l.q.Write(p) {
		l.s.drops.add(DropDevice)
		return false
	}
	return true
}

// id is the identification of a packet that may be cut: of those between two hosts each has another
// one, for as long as can be, and those between others tell nothing of them (RFC 7739, section 5.3,
// and RFC 6274, section 3.5.2.1).
func (s *Stack) id(src, dst netip.Addr) uint16 {
	a, b := src.As4(), dst.As4()
	var name [8]byte
	copy(name[:], a[:])
	copy(name[4:], b[:])
	h := siphash(&s.secret, name[:])
	return uint16(h>>48) + uint16(s.ids[h%uint64(len(s.ids))].Add(1))
}

// complain sends an ICMP error about a packet, if there may be one, and not too often.
func (s *Stack) complain(about wire.IPv4, everybody bool, t wire.ICMPType, code uint8, rest uint32) {
	quote, ok := icmp.Quote(about, everybody)
	if !ok || !s.owns(about.Dst()) {
		return
	}
	to := about.Src().As4()
	now := time.Duration(s.now())
	s.errorsMu.Lock()
	ok = s.shares.Allow(siphash(&s.secret, to[:]), now) && s.errors.Allow(now)
	s.errorsMu.Unlock()
	if !ok {
		return
	}
	message := wire.AppendICMP(nil, t, code, rest, quote)
	s.sendIP(wire.IPv4Fields{Protocol: wire.ICMPv4Protocol, Src: about.Dst(), Dst: about.Src()}, message) //nolint:errcheck // it is counted
}
