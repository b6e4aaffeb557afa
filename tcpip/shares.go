package tcpip

import "net/netip"

// shares bounds what clients hold of something that all of them need, so that a stranger cannot
// take all of it. A client may hold at most as much as is left free: n clients that take all they
// can leave one part of n+1 free, and a new client always finds room. It has no lock of its own.
type shares struct {
	most  int                // held by all clients together, at most
	least int                // one client may hold as much as this whatever is left
	held  int                // by all clients together
	of    map[netip.Addr]int // held by each client, above zero
}

// client is what counts as one client: an IPv4 address, or the /64 network of an IPv6 address. It
// is the zero Addr, which has no share of its own, for this host.
func client(a netip.Addr) netip.Addr {
	if a = a.Unmap(); a.IsLoopback() {
		return netip.Addr{}
	}
	if a.Is6() {
		p, _ := a.Prefix(64) // 64 is a length of IPv6's
		return p.Addr()
	}
	return a
}

// fits reports whether a client may hold n more.
func (s *shares) fits(c netip.Addr, n int) bool {
	left := s.most - s.held - n
	return left >= 0 && (!c.IsValid() || s.of[c]+n <= max(left, s.least))
}

// take has a client hold n more, and reports whether it may.
func (s *shares) take(c netip.Addr, n int) bool {
	if !s.fits(c, n) {
		return false
	}
	s.held += n
	if c.IsValid() {
		if s.of == nil {
			s.of = map[netip.Addr]int{}
		}
		s.of[c] += n
	}
	return true
}

// give has a client hold n less.
func (s *shares) give(c netip.Addr, n int) {
	s.held -= n
	if !c.IsValid() {
		return
	}
	if s.of[c] -= n; s.of[c] == 0 {
		delete(s.of, c)
	}
}
