package tcpip

import (
	"net/netip"

	"weir/tcpip/tcp"
	"weir/wire"
)

// tcp gives a segment to its connection or to a listener.
func (p *packet) tcp() layer {
	v, fault := wire.ParseTCP(p.payload)
	if fault != wire.OK || !p.checksumOK && !v.ChecksumOK(p.src, p.dst) || p.broadcast {
		return p.drop(DropTCPHeader)
	}
	k := tuple{netip.AddrPortFrom(p.dst, v.DstPort()), netip.AddrPortFrom(p.src, v.SrcPort())}
	seg := tcp.ParseSegment(v)
	seg.CE = p.tos&ecnMarked == ecnMarked
	switch c := p.reader.s.conns.get(k); {
	case c == nil:
		if c = p.openFromSegment(k, &seg); c != nil {
			p.reader.markToAnswer(c)
		}
	case c.reader == p.reader:
		c.receiveSegment(&seg, p.now)
		p.reader.markToAnswer(c)
	default:
		// the device forgets a flow's queue after some seconds of silence; the answer renews it
		c.receiveFromOtherReader(&seg, p.now)
	}
	return consumed
}
