package ip

import "weir/wire"

// Fragment cuts a packet for a link that takes so many bytes, header included, at least 68 (RFC 791).
// Send is called for each fragment, with its header and its piece of the payload, which is the
// packet's. A packet that fits is sent as it is.
func Fragment(f wire.IPv4Fields, payload []byte, mtu int, send func(header, payload []byte)) {
	var buffer [wire.IPv4HeaderLargest]byte
	if wire.IPv4Header+len(f.Options)+len(payload) <= mtu {
		f.Payload = len(payload)
		send(wire.AppendIPv4(buffer[:0], &f), payload)
		return
	}
	all := len(payload)
	for at := 0; at < all; {
		header := wire.IPv4Header + len(f.Options)
		n := min((mtu-header)&^7, all-at)
		if header+all-at <= mtu {
			n = all - at
		}
		f.FragmentOffset, f.MoreFragments, f.Payload = at, at+n < all, n
		send(wire.AppendIPv4(buffer[:0], &f), payload[at:at+n])
		at += n
		if at == n {
			f.Options = copied(f.Options)
		}
	}
}

// copied is those of the options that every fragment has (RFC 791, section 3.1: the first bit says
// so), filled up to a multiple of 4.
func copied(options []byte) []byte {
	var kept []byte
	for len(options) > 0 && options[0] != 0 {
		n := 1
		if options[0] != 1 {
			if len(options) < 2 || int(options[1]) < 2 || int(options[1]) > len(options) {
				break
			}
			n = int(options[1])
		}
		if options[0]&0x80 != 0 {
			kept = append(kept, options[:n]...)
		}
		options = options[n:]
	}
	for len(kept)%4 != 0 {
		kept = append(kept, 0)
	}
	return kept
}
