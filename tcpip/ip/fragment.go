package ip

import "weir/wire"

// Fragment splits a packet for a link with an MTU of at least 68 bytes (RFC 791). It calls send for
// each fragment with its header and its part of the payload, which is not copied. A packet that
// fits is sent whole. A fragment is split into smaller ones of the same packet.
func Fragment(f wire.IPv4Fields, payload []byte, mtu int, send func(header, payload []byte)) {
	var buffer [wire.IPv4HeaderLargest]byte
	if wire.IPv4Header+len(f.Options)+len(payload) <= mtu {
		f.Payload = len(payload)
		send(wire.AppendIPv4(buffer[:0], &f), payload)
		return
	}
	total, first, more := len(payload), f.FragmentOffset, f.MoreFragments
	for at := 0; at < total; {
		header := wire.IPv4Header + len(f.Options)
		n := min((mtu-header)&^7, total-at)
		if header+total-at <= mtu {
			n = total - at
		}
		f.FragmentOffset, f.MoreFragments, f.Payload = first+at, more || at+n < total, n
		send(wire.AppendIPv4(buffer[:0], &f), payload[at:at+n])
		at += n
		if at == n {
			f.Options = copiedOptions(f.Options)
		}
	}
}

// copiedOptions returns the options that every fragment carries, those with the copied flag (RFC
// 791, section 3.1), padded to a multiple of 4.
func copiedOptions(options []byte) []byte {
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
