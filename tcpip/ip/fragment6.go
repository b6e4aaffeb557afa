package ip

import "weir/wire"

// Fragment6 splits a packet of IPv6 for a path with an MTU of at least 1,280 bytes (RFC 8200,
// section 4.5). It calls send for each fragment with its headers and its part of the payload, which
// is not copied. A packet that fits is sent whole, without a fragment header (RFC 8021); otherwise
// id is called once for the Identification.
func Fragment6(f wire.IPv6Fields, payload []byte, mtu int, id func() uint32, send func(header, payload []byte)) {
	var buffer [wire.IPv6Header + wire.FragmentLen]byte
	if wire.IPv6Header+len(payload) <= mtu {
		f.Payload = len(payload)
		send(wire.AppendIPv6(buffer[:0], &f), payload)
		return
	}
	next, number := f.NextHeader, id()
	f.NextHeader = wire.FragmentHeader
	room := (mtu - len(buffer)) &^ 7
	for at := 0; at < len(payload); at += room {
		n := min(room, len(payload)-at)
		f.Payload = wire.FragmentLen + n
		send(wire.AppendFragment(wire.AppendIPv6(buffer[:0], &f), next, at, at+n < len(payload), number), payload[at:at+n])
	}
}
