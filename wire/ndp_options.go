package wire

import (
	"encoding/binary"
	"net/netip"
	"time"
)

// Infinite is a lifetime without an end (RFC 4861, section 4.6.2).
const Infinite = time.Duration(1<<32-1) * time.Second

// lifetime reads a lifetime in seconds.
func lifetime(b []byte) time.Duration {
	return time.Duration(binary.BigEndian.Uint32(b)) * time.Second
}

// Prefix is the value of a PrefixInfo option (RFC 4861, section 4.6.2).
type Prefix struct {
	Prefix     netip.Prefix // masked
	OnLink     bool         // its addresses are neighbours
	Autonomous bool         // hosts may make addresses in it (RFC 4862)
	Valid      time.Duration
	Preferred  time.Duration
}

// Prefix reads a PrefixInfo option; ok is false if it is of another length.
func (o NDPOption) Prefix() (p Prefix, ok bool) {
	if len(o) != 32 || o[2] > 128 {
		return p, false
	}
	return Prefix{netip.PrefixFrom(netip.AddrFrom16([16]byte(o[16:32])), int(o[2])).Masked(), o[3]&0x80 != 0, o[3]&0x40 != 0, lifetime(o[4:]), lifetime(o[8:])}, true
}

// AppendPrefix appends a PrefixInfo option.
func AppendPrefix(b []byte, p *Prefix) []byte {
	var flags byte
	if p.OnLink {
		flags |= 0x80
	}
	if p.Autonomous {
		flags |= 0x40
	}
	b = append(b, byte(PrefixInfo), 4, byte(p.Prefix.Bits()), flags)
	b = binary.BigEndian.AppendUint32(b, uint32(p.Valid/time.Second))
	b = binary.BigEndian.AppendUint32(b, uint32(p.Preferred/time.Second))
	a := p.Prefix.Addr().As16()
	return append(append(b, 0, 0, 0, 0), a[:]...)
}

// AppendMTU appends a LinkMTU option.
func AppendMTU(b []byte, mtu int) []byte {
	return binary.BigEndian.AppendUint32(append(b, byte(LinkMTU), 1, 0, 0), uint32(mtu))
}

// Route is the value of a RouteInfo option (RFC 4191, section 2.3).
type Route struct {
	To         netip.Prefix // masked
	Preference RouterPreference
	Lifetime   time.Duration
}

// Route reads a RouteInfo option; ok is false if its length does not fit its prefix, or if its
// preference is the reserved one (RFC 4191, section 2.3).
func (o NDPOption) Route() (r Route, ok bool) {
	if len(o) > 24 || o[2] > 128 || int(o[2]+63)/64*8 > len(o)-8 || o[3]>>3&3 == 2 {
		return r, false
	}
	var a [16]byte
	copy(a[:], o[8:])
	return Route{netip.PrefixFrom(netip.AddrFrom16(a), int(o[2])).Masked(), preference(o[3]), lifetime(o[4:])}, true
}

// Servers is the value of a DNSServers option (RFC 8106, section 5.1).
type Servers struct {
	Lifetime time.Duration
	Addrs    []netip.Addr // one or more
}

// Servers reads a DNSServers option; ok is false if it has no server.
func (o NDPOption) Servers() (s Servers, ok bool) {
	if len(o) < 24 || len(o)%16 != 8 {
		return s, false
	}
	s.Lifetime = lifetime(o[4:])
	for b := o[8:]; len(b) > 0; b = b[16:] {
		s.Addrs = append(s.Addrs, netip.AddrFrom16([16]byte(b[:16])))
	}
	return s, true
}

// AppendServers appends a DNSServers option, of at most 100 servers.
func AppendServers(b []byte, s *Servers) []byte {
	b = append(b, byte(DNSServers), byte(1+2*len(s.Addrs)), 0, 0)
	b = binary.BigEndian.AppendUint32(b, uint32(s.Lifetime/time.Second))
	for _, a := range s.Addrs {
		b = append(b, a.AsSlice()...)
	}
	return b
}
