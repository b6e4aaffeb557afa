package tcpip

import (
	"weir/tcpip/link"
	"weir/tcpip/tcp"
	"weir/wire"
)

// ECN codepoints in the IP header (RFC 3168, section 5).
const (
	ecnCapable = 2 // ECT(0)
	ecnMarked  = 3 // CE
)

// emitLocked sends a segment. The caller holds mu.
func (c *Conn) emitLocked(o *tcp.OutSegment) {
	out := outgoingPool.Get().(*outgoingFrame)
	defer outgoingPool.Put(out)
	caps, p := &c.iface.caps, &out.Parts
	f := wire.TCPFields{Src: c.key.local, Dst: c.key.remote, Seq: o.Seq, Ack: o.Ack, Flags: o.Flags, Window: o.Window, Urgent: o.Urgent, Options: o.Options.Append(out.options[:0])}
	b := c.appendIPHeaderLocked(out.headers[:0], o, wire.TCPHeader+len(f.Options)+o.Len())
	*p = link.Parts{Body: o.Payload}
	if start := len(b); caps.Checksum {
		b = wire.AppendTCPPartial(b, &f, o.Len())
		p.ChecksumPartial, p.ChecksumStart, p.ChecksumOffset, p.SegmentSize = true, start, 16, o.SegmentSize
	} else {
		b = wire.AppendTCP(b, &f, o.Payload[0], o.Payload[1])
	}
	p.Head = b
	c.reader.counts.sent[kindTCP].Add(1)
	if (c.dstKnown || c.resolveLocked(p)) && !c.reader.queue.Write(p) {
		c.s.drops.add(DropDevice)
	}
	if c.reader.pushBack.isFull() {
		c.tcp.Hold()
	}
}

// appendIPHeaderLocked appends the frame's header, if the link has one, and the IP header of a
// segment. The caller holds mu.
func (c *Conn) appendIPHeaderLocked(b []byte, o *tcp.OutSegment, payload int) []byte {
	tos := c.tos
	if o.ECT {
		tos |= ecnCapable
	}
	src, dst := c.key.local.Addr(), c.key.remote.Addr()
	if dst.Is6() {
		b = c.iface.appendFrameHeader(b, c.dstMAC, wire.TypeIPv6)
		return wire.AppendIPv6(b, &wire.IPv6Fields{TrafficClass: tos, FlowLabel: c.flowLabel, NextHeader: wire.TCPProtocol, HopLimit: c.iface.hopLimit6(), Src: src, Dst: dst, Payload: payload})
	}
	var id uint16 // ID of 0: it has no meaning with DF set (RFC 6864)
	if c.fragmentable {
		id = c.s.packetID(src, dst)
	}
	b = c.iface.appendFrameHeader(b, c.dstMAC, wire.TypeIPv4)
	return wire.AppendIPv4(b, &wire.IPv4Fields{TOS: tos, ID: id, TTL: c.s.cfg.TTL, DontFragment: !c.fragmentable, Protocol: wire.TCPProtocol, Src: src, Dst: dst, Payload: payload})
}

// resolveLocked looks the next hop's hardware address up and reports whether it is known. If not,
// the neighbour table keeps the frame until it is. The caller holds mu.
func (c *Conn) resolveLocked(p *link.Parts) bool {
	if !c.iface.resolvesNeighbours() {
		c.dstMAC, c.dstKnown = c.iface.caps.MAC, true
		return true
	}
	hop, ok := c.iface.nextHop(c.key.remote.Addr())
	if !ok {
		c.s.drops.add(DropRoute)
		return false
	}
	c.neighChanges, c.dstFoundAt = c.iface.neighChanges.Load(), c.s.now()
	if c.dstMAC, c.dstKnown = c.iface.resolve(c.reader, hop, !c.client.IsValid() || hop != c.key.remote.Addr(), p); c.dstKnown {
		c.iface.setDst(p.Head, c.dstMAC)
	}
	return c.dstKnown
}
