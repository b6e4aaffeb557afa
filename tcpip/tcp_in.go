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
	seg.CE = p.ip.TOS()&ecnMarked == ecnMarked
	switch c := p.lane.s.conns.get(k); {
	case c == nil:
		if c = p.opened(k, &seg); c != nil {
			p.lane.touch(c)
		}
	case c.lane == p.lane:
		c.arrive(&seg, p.now)
		p.lane.touch(c)
	default:
		// the device forgets whose queue a flow's is that was silent for some seconds: what is sent
		// now tells it
		c.astray(&seg, p.now)
	}
	return done
}
