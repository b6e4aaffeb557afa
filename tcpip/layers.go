package tcpip

import (
	"encoding/binary"
	"net/netip"

	"weir/tcpip/icmp"
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

	eth        wire.Ethernet // nil on a link without frame headers
	broadcast  bool          // its destination is a broadcast or multicast address
	forwarded  bool          // its destination is for Stack.Forward
	checksumOK bool          // the device has verified the transport checksum

	// Of the IP packet, set by its layer.
	ip       []byte // headers and payload; before its layer: what follows the frame's header
	src, dst netip.Addr
	protocol wire.Protocol // of the payload
	tos      uint8         // TOS octet, or traffic class
	payload  []byte
	// IPv6: offset of the Next Header field that names protocol
	nextHeaderAt int
}

// layer is the layer that processes a packet next.
type layer uint8

const (
	consumed layer = iota // none: the packet was delivered, or dropped and counted
	ethernetLayer
	arpLayer
	ipv4Layer
	ipv6Layer
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

// ethernet demultiplexes frames by their EtherType. On a link without frame headers, it does so
// with packets by their version.
func (p *packet) ethernet() layer {
	if p.reader.iface.frameHeader == 0 {
		p.ip, p.checksumOK = p.frame.Bytes, p.frame.ChecksumOK
		return p.demuxVersion()
	}
	e, fault := wire.ParseEthernet(p.frame.Bytes)
	if fault != wire.OK {
		return p.drop(DropFrame)
	}
	p.eth, p.ip, p.checksumOK = e, e.Payload(), p.frame.ChecksumOK
	dst := e.Dst()
	p.broadcast = dst.IsGroup()
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
	case e.Type() == wire.TypeIPv6:
		return ipv6Layer
	}
	return p.drop(DropFrame)
}

// demuxVersion demultiplexes packets by the version of IP.
func (p *packet) demuxVersion() layer {
	if len(p.ip) > 0 {
		switch p.ip[0] >> 4 {
		case 4:
			return ipv4Layer
		case 6:
			return ipv6Layer
		}
	}
	return p.drop(DropFrame)
}

// arp processes an ARP message.
func (p *packet) arp() layer {
	m, fault := wire.ParseARP(p.ip)
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
	v, fault := wire.ParseIPv4(p.ip)
	if fault != wire.OK || !p.checksumOK && !v.ChecksumOK() {
		return p.drop(DropIPHeader)
	}
	accepts, broadcast := p.reader.iface.acceptsDst(binary.BigEndian.Uint32(v[16:20]))
	if p.forwarded = !accepts && !p.broadcast && p.reader.s.forwards(v.Dst()); !accepts && !p.forwarded {
		return p.drop(DropNotOurs)
	}
	// a host without an address may ask all others for one (RFC 1122, section 3.2.1.3 (a))
	if bootstraps := [8]byte(v[12:20]) == [8]byte{4: 255, 255, 255, 255} && v.Protocol() == wire.UDPProtocol; !bootstraps && p.reader.iface.martianSource(binary.BigEndian.Uint32(v[12:16])) && !isProxyQuery(v) {
		return p.drop(DropSource)
	}
	p.setIPv4(v)
	p.broadcast = p.broadcast || broadcast
	if v.HeaderLen() > wire.IPv4Header && !p.checkOptions(v) {
		return p.drop(DropOptions)
	}
	if v.IsFragment() {
		return fragmentsLayer
	}
	return p.demuxProtocol()
}

// setIPv4 sets the fields of an IPv4 packet.
func (p *packet) setIPv4(v wire.IPv4) {
	p.ip, p.src, p.dst, p.protocol, p.tos, p.payload = v, v.Src(), v.Dst(), v.Protocol(), v.TOS(), v.Payload()
}

// demuxProtocol demultiplexes whole packets by protocol.
func (p *packet) demuxProtocol() layer {
	if p.forwarded && p.protocol != wire.TCPProtocol && p.protocol != wire.UDPProtocol && p.protocol != icmpProtocol(p.dst) {
		return p.drop(DropNotOurs)
	}
	p.reader.counts.received[payloadKindOf(p.protocol)].Add(1)
	p.reader.s.sockets.deliverIP(p)
	switch p.protocol {
	case wire.TCPProtocol:
		return tcpLayer
	case wire.UDPProtocol:
		return udpLayer
	case icmpProtocol(p.dst):
		return icmpLayer
	case wire.IGMPProtocol:
		if p.dst.Is4() {
			return icmpLayer
		}
	}
	if p.reader.s.sockets.hasProtocol(p.protocol) {
		return consumed
	}
	if p.dst.Is4() || p.protocol != wire.NoNextHeader { // nothing follows (RFC 8200, section 4.7)
		p.reader.iface.sendICMPError(p.ip, p.broadcast, icmp.ProtocolUnreachable, p.nextHeaderAt)
	}
	return p.drop(DropProtocol)
}

// icmpProtocol returns the protocol of ICMP in packets to dst.
func icmpProtocol(dst netip.Addr) wire.Protocol {
	if dst.Is4() {
		return wire.ICMPv4Protocol
	}
	return wire.ICMPv6Protocol
}

// checkOptions reports whether a packet may go on with its IP options. For malformed options it
// sends a Parameter Problem (RFC 1122, section 3.2.2.5).
func (p *packet) checkOptions(v wire.IPv4) bool {
	verdict, at := ip.Options(v.Options()).Check()
	if verdict == ip.MalformedOption {
		p.reader.iface.sendICMPError(p.ip, p.broadcast, icmp.BadHeader, wire.IPv4Header+at)
	}
	return verdict == ip.Valid
}

// reassemble processes a fragment. The last fragment of a packet becomes the whole packet.
func (p *packet) reassemble() layer {
	s := p.reader.s
	s.fragsMu.Lock()
	whole, outcome := p.addFragmentLocked()
	s.fragsMu.Unlock()
	switch outcome {
	case ip.Complete:
		p.checksumOK = false
		if p.dst.Is6() {
			return p.setWhole6(whole)
		}
		p.setIPv4(whole)
		return p.demuxProtocol()
	case ip.Incomplete, ip.Duplicate:
		if s.cfg.Run == RunNetwork {
			// the reader may sleep without a timeout for the fragment that has just arrived
			p.reader.requestCheck()
		}
		return consumed
	}
	if p.dst.Is6() {
		p.reportFragment(outcome)
	}
	return p.drop(DropFragment)
}
