package tcpip

import (
	"net/netip"

	"weir/tcpip/tcp"
	"weir/wire"
)

// tcp takes a segment to its connection, or to a listener.
func (p *packet) tcp() layer {
	v, fault := wire.ParseTCP(p.ip.Payload())
	if fault != wire.OK || !p.good && !v.ChecksumOK(p.ip.Src(), p.ip.Dst()) || p.everybody {
		return p.drop(DropTCPHeader)
	}
	k := tuple{netip.AddrPortFrom(p.ip.Dst(), v.DstPort()), netip.AddrPortFrom(p.ip.Src(), v.SrcPort())}
	seg := tcp.ParseSegment(v)
	seg.Marked = p.ip.TOS()&ecnMarked == ecnMarked
	c := p.lane.s.conns.get(k)
	if c != nil {
		c.arrive(&seg, p.now)
	} else if c = p.opened(k, &seg); c == nil {
		return done
	}
	p.lane.touch(c)
	return done
}
