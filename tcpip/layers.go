package tcpip

import (
	"encoding/binary"

	"weir/tcpip/ip"
	"weir/tcpip/link"
	"weir/tcpip/neigh"
	"weir/tcpip/tcp"
	"weir/wire"
)

// packet is a received frame while it passes through the layers. It is reused after its batch.
type packet struct {
	reader    *reader
	frame     *link.Frame
	now       tcp.Time
	nextLayer layer

	eth        wire.Ethernet
	ip         wire.IPv4
	broadcast  bool // its destination is a broadcast or multicast address
	checksumOK bool // the device has verified the transport checksum
}

// layer is the layer that processes a packet next.
type layer uint8

const (
	consumed layer = iota // none: the packet was delivered, or dropped and counted
	ethernetLayer
	arpLayer
	ipv4Layer
	fragmentsLayer
	icmpLayer
	udpLayer
	tcpLayer
)

// drop counts a dropped packet.
func (p *packet) drop(why Drop) layer {
	p.reader.s.drops.add(why)
	return consumed
}

// ethernet demultiplexes frames by their EtherType.
func (p *packet) ethernet() layer {
	e, fault := wire.ParseEthernet(p.frame.Bytes)
	if fault != wire.OK {
		return p.drop(DropFrame)
	}
	p.eth, p.checksumOK = e, p.frame.ChecksumOK
	dst := e.Dst()
	if dst != p.reader.iface.caps.MAC && !dst.IsGroup() {
		return p.drop(DropNotOurs)
	}
	p.reader.s.sockets.deliverFrame(p)
	switch {
	case e.Tag().VLANID() != 0:
		// VLAN 0 means priority tagging only (802.1Q): accepted without the tag, as Linux does
		return p.drop(DropFrame)
	case e.Type() == wire.TypeARP:
		return arpLayer
	case e.Type() == wire.TypeIPv4:
		return ipv4Layer
	}
	return p.drop(DropFrame)
}

// arp processes an ARP message.
func (p *packet) arp() layer {
	m, fault := wire.ParseARP(p.eth.Payload())
	if fault != wire.OK {
		return p.drop(DropARP)
	}
	i := p.reader.iface
	if !m.Sender().IsUnspecified() && i.martianOnLink(m.Sender()) {
		return p.drop(DropSource)
	}
	i.mu.Lock()
	i.claims.Receive(m, neigh.Time(p.now), claimActions{p.reader})
	asked := i.neigh.Receive(m, neigh.Time(p.now), neighActions{p.reader})
	i.neighChanges.Store(i.neigh.Changes)
	i.mu.Unlock()
	if asked {
		p.reader.sendARP(wire.ARPReply, m.SenderMAC(), m.Target(), m.SenderMAC(), m.Sender())
	}
	return consumed
}

// ipv4 validates a packet and its addresses, and demultiplexes it: fragments, or the protocol.
func (p *packet) ipv4() layer {
	v, fault := wire.ParseIPv4(p.eth.Payload())
	if fault != wire.OK || !p.checksumOK && !v.ChecksumOK() {
		return p.drop(DropIPHeader)
	}
	accepts, broadcast := p.reader.iface.acceptsDst(binary.BigEndian.Uint32(v[16:20]))
	if !accepts {
		return p.drop(DropNotOurs)
	}
	if p.reader.iface.martianSource(binary.BigEndian.Uint32(v[12:16])) {
		return p.drop(DropSource)
	}
	p.ip, p.broadcast = v, broadcast || p.eth.Dst().IsGroup()
	if v.HeaderLen() > wire.IPv4Header && !p.checkOptions() {
		return p.drop(DropOptions)
	}
	if v.IsFragment() {
		return fragmentsLayer
	}
	return p.demuxProtocol()
}

// demuxProtocol demultiplexes whole packets by protocol.
func (p *packet) demuxProtocol() layer {
	p.reader.counts.received[payloadKindOf(p.ip.Protocol())].Add(1)
	p.reader.s.sockets.deliverIP(p)
	switch p.ip.Protocol() {
	case wire.TCPProtocol:
		return tcpLayer
	case wire.UDPProtocol:
		return udpLayer
	case wire.ICMPv4Protocol:
		return icmpLayer
	}
	if p.reader.s.sockets.hasProtocol(p.ip.Protocol()) {
		return consumed
	}
	p.reader.s.sendICMPError(p.ip, p.broadcast, wire.Unreachable, wire.ProtocolUnreachable, 0)
	return p.drop(DropProtocol)
}

// checkOptions reports whether a packet may go on with its IP options. For malformed options it
// sends a Parameter Problem (RFC 1122, section 3.2.2.5).
func (p *packet) checkOptions() bool {
	verdict, at := ip.Options(p.ip.Options()).Check()
	if verdict == ip.MalformedOption {
		p.reader.s.sendICMPError(p.ip, p.broadcast, wire.ParameterProblem, 0, uint32(wire.IPv4Header+at)<<24)
	}
	return verdict == ip.Valid
}

// reassemble processes a fragment. The last fragment of a packet becomes the whole packet.
func (p *packet) reassemble() layer {
	s := p.reader.s
	s.fragsMu.Lock()
	whole, outcome := s.fragments.Add(p.ip, ip.Time(p.now))
	s.fragsMu.Unlock()
	switch outcome {
	case ip.Complete:
		p.ip, p.checksumOK = whole, false
		return p.demuxProtocol()
	case ip.Incomplete, ip.Duplicate:
		if s.cfg.Run == RunNetwork {
			// the reader may sleep without a timeout for the fragment that has just arrived
			p.reader.requestCheck()
		}
		return consumed
	}
	return p.drop(DropFragment)
}
