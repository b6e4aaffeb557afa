package tcpip

import "net/netip"

// ListenPacketOn is ListenPacket for the link with that name, or for the first if it is "": the
// socket receives and sends by that link only. Sockets of different links may have the same port.
// While the link has no IPv4 address, datagrams to 255.255.255.255 have the source 0.0.0.0: so a
// host asks for an address (RFC 1122, section 3.2.1.3 (a)).
func (s *Stack) ListenPacketOn(name, network, address string) (*UDPConn, error) {
	i, err := s.linkNamed(name)
	if err != nil {
		return nil, listenError(network, netip.AddrPort{}, err)
	}
	return s.listenUDP(i, network, address)
}

// routeBy is routeTo for packets that may leave by one link only; nil: by any. The source is
// 0.0.0.0 for a broadcast by a link without an address.
func (s *Stack) routeBy(only *iface, dst, from netip.Addr) (i *iface, hop, src netip.Addr, ok bool) {
	if only == nil || s.owns(dst) {
		return s.routeTo(dst, from)
	}
	hop, ok = dst, true
	if !dst.IsMulticast() && dst != limitedBroadcast {
		hop, ok = only.nextHop(dst)
	}
	if ok {
		src = only.sourceOn(hop, dst)
	}
	if dst == limitedBroadcast && !src.IsValid() {
		src = netip.IPv4Unspecified()
	}
	return only, only.zoned(hop), src, src.IsValid()
}

// asksForAddress reports whether a packet may have the source 0.0.0.0: a broadcast by one link.
func (f *outgoingPacket) asksForAddress() bool {
	return f.link != nil && f.dst == limitedBroadcast && f.src == netip.IPv4Unspecified()
}
