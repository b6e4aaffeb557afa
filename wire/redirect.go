package wire

import "net/netip"

// Redirect is a redirect of IPv6 (RFC 4861, section 4.5).
type Redirect struct {
	Target  netip.Addr // the better first hop
	Dst     netip.Addr // packets to it are concerned
	Options NDPOptions
}

// redirectLen is the length of a redirect before its options.
const redirectLen = ICMPHeader + 2*16

// ParseRedirect reads a redirect. The caller has verified hop limit, checksum and source. The
// target is link-local or the destination, which is no group (RFC 4861, section 8.1).
func ParseRedirect(m ICMPv6) (r Redirect, fault Fault) {
	if len(m) < redirectLen {
		return r, Short
	}
	r = Redirect{netip.AddrFrom16([16]byte(m[8:24])), netip.AddrFrom16([16]byte(m[24:40])), NDPOptions(m[redirectLen:])}
	switch {
	case m.Code() != 0 || r.Dst.IsMulticast() || r.Dst != r.Target && !r.Target.IsLinkLocalUnicast():
		return r, WrongField
	case !r.Options.Valid():
		return r, WrongOption
	}
	return r, OK
}

// AppendRedirect appends a redirect.
func AppendRedirect(b []byte, src, dst netip.Addr, r *Redirect) []byte {
	target, about := r.Target.As16(), r.Dst.As16()
	return AppendICMPv6(b, src, dst, Redirect6, 0, 0, append(append(target[:], about[:]...), r.Options...))
}
