package tcpip

import "net/netip"

// clientShares divides a limited resource among clients, so that no client can take all of it. A
// client may use at most as much as is left free. So n greedy clients leave one part of n+1 free,
// and a new client always finds room. The owner provides the lock.
type clientShares struct {
	limit      int                // maximum in use by all clients together
	guaranteed int                // a client may use this much whatever is left
	used       int                // in use by all clients together
	perClient  map[netip.Addr]int // in use by each client, above zero
}

// clientOf returns the address that stands for a client: an IPv4 address, or the /64 network of an
// IPv6 address. It is the zero Addr, which has no limit of its own, for this host.
func clientOf(a netip.Addr) netip.Addr {
	if a = a.Unmap(); a.IsLoopback() {
		return netip.Addr{}
	}
	if a.Is6() {
		p, _ := a.Prefix(64) // 64 is a valid length for IPv6
		return p.Addr()
	}
	return a
}

// fits reports whether a client may use n more.
func (s *clientShares) fits(c netip.Addr, n int) bool {
	left := s.limit - s.used - n
	return left >= 0 && (!c.IsValid() || s.perClient[c]+n <= max(left, s.guaranteed))
}

// acquire adds n to a client's use, and reports whether it may.
func (s *clientShares) acquire(c netip.Addr, n int) bool {
	if !s.fits(c, n) {
		return false
	}
	s.used += n
	if c.IsValid() {
		if s.perClient == nil {
			s.perClient = map[netip.Addr]int{}
		}
		s.perClient[c] += n
	}
	return true
}

// release subtracts n from a client's use.
func (s *clientShares) release(c netip.Addr, n int) {
	s.used -= n
	if !c.IsValid() {
		return
	}
	if s.perClient[c] -= n; s.perClient[c] == 0 {
		delete(s.perClient, c)
	}
}
