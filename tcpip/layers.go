package tcpip

import (
	"encoding/binary"

	"weir/tcpip/ip"
	"weir/tcpip/link"
	"weir/tcpip/neigh"
	"weir/tcpip/tcp"
	"weir/wire"
)

// packet is a frame on its way up. It lives as long as its batch.
type packet struct {
	lane  *lane
	frame *link.Frame
	now   tcp.Time
	next  layer

	eth       wire.Ethernet
	ip        wire.IPv4
	everybody bool // it was sent to more than one
	good      bool // the transport's checksum needs no looking at
}

// layer is where a packet goes next: network.go carries it there.
type layer uint8

const (
	done layer = iota // nowhere: it was taken, or dropped and counted
	ethernetLayer
	arpLayer
	ipv4Layer
	fragmentsLayer
	icmpLayer
	udpLayer
	tcpLayer
)

// drop counts a packet that ends here.
func (p *packet) drop(why Drop) layer {
	p.lane.s.drops.add(why)
	return done
}

// ethernet deals frames out by what they carry.
func (p *packet) ethernet() layer {
	e, fault := wire.ParseEthernet(p.frame.Bytes)
	if fault != wire.OK {
		return p.drop(DropFrame)
	}
	p.eth, p.good = e, p.frame.Good
	dst := e.Dst()
	if dst != p.lane.iface.caps.MAC && !dst.Group() {
		return p.drop(DropNotOurs)
	}
	p.lane.s.sockets.ether(p)
	switch {
	case e.Tag().Network() != 0:
		// network 0 is the link's own: the tag says a priority only (802.1Q), which is taken as
		// Linux does
		return p.drop(DropFrame)
	case e.Type() == wire.TypeARP:
		return arpLayer
	case e.Type() == wire.TypeIPv4:
		return ipv4Layer
	}
	return p.drop(DropFrame)
}

// arp takes a message of a neighbour.
func (p *packet) arp() layer {
	m, fault := wire.ParseARP(p.eth.Payload())
	if fault != wire.OK {
		return p.drop(DropARP)
	}
	i := p.lane.iface
	if !m.Sender().IsUnspecified() && i.martian(m.Sender()) {
		return p.drop(DropSource)
	}
	i.mu.Lock()
	i.claims.Receive(m, neigh.Time(p.now), claiming{p.lane})
	asked := i.neigh.Receive(m, neigh.Time(p.now), actions{p.lane})
	i.changes.Store(i.neigh.Changes)
	i.mu.Unlock()
	if asked {
		p.lane.sendARP(wire.ARPReply, m.SenderMAC(), m.Target(), m.SenderMAC(), m.Sender())
	}
	return done
}

// ipv4 checks a packet, and deals out fragments, and whole packets by protocol.
func (p *packet) ipv4() layer {
	v, fault := wire.ParseIPv4(p.eth.Payload())
	if fault != wire.OK || !p.good && !v.ChecksumOK() {
		return p.drop(DropIPHeader)
	}
	takes, everybody := p.lane.iface.takes(binary.BigEndian.Uint32(v[16:20]))
	if !takes {
		return p.drop(DropNotOurs)
	}
	if p.lane.iface.strange(binary.BigEndian.Uint32(v[12:16])) {
		return p.drop(DropSource)
	}
	p.ip, p.everybody = v, everybody || p.eth.Dst().Group()
	if v.HeaderLen() > wire.IPv4Header && !p.options() {
		return p.drop(DropOptions)
	}
	if v.Fragment() {
		return fragmentsLayer
	}
	return p.whole()
}

// whole deals packets out by protocol.
func (p *packet) whole() layer {
	p.lane.counts.came[carries(p.ip.Protocol())].Add(1)
	p.lane.s.sockets.raw(p)
	switch p.ip.Protocol() {
	case wire.TCPProtocol:
		return tcpLayer
	case wire.UDPProtocol:
		return udpLayer
	case wire.ICMPv4Protocol:
		return icmpLayer
	}
	if p.lane.s.sockets.bound(p.ip.Protocol()) {
		return done
	}
	p.lane.s.complain(p.ip, p.everybody, wire.Unreachable, wire.ProtocolUnreachable, 0)
	return p.drop(DropProtocol)
}

// options looks through a header's options, and says whether the packet goes on. Who wrote broken
// ones is told (RFC 1122, section 3.2.2.5).
func (p *packet) options() bool {
	verdict, at := ip.Options(p.ip.Options()).Check()
	if verdict == ip.Broken {
		p.lane.s.complain(p.ip, p.everybody, wire.ParameterProblem, 0, uint32(wire.IPv4Header+at)<<24)
	}
	return verdict == ip.Good
}

// fragments takes a fragment, and goes on with its packet if that is whole now.
func (p *packet) fragments() layer {
	s := p.lane.s
	s.fragsMu.Lock()
	whole, outcome := s.fragments.Add(p.ip, ip.Time(p.now))
	s.fragsMu.Unlock()
	switch outcome {
	case ip.Whole:
		p.ip, p.good = whole, false
		return p.whole()
	case ip.Held, ip.Twice:
		if s.cfg.Run == RunNetwork {
			p.lane.look() // the reader may have looked before there was a fragment, and sleep
		}
		return done
	}
	return p.drop(DropFragment)
}
