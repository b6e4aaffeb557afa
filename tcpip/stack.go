package tcpip

import (
	crypto "crypto/rand"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"weir/tcpip/icmp"
	"weir/tcpip/ip"
	"weir/tcpip/link"
	"weir/tcpip/tcp"
)

// Stack is a host. Its methods may be called from any goroutine.
type Stack struct {
	// Immutable.
	cfg      Config
	ifaces   []*iface // the link's, if there is one, and the loopback
	routes   ip.Routes
	began    time.Time
	secret   [16]byte // of sequence numbers and ports
	done     sync.WaitGroup
	budget   budget
	unsent   unsent
	resolver *resolver
	network  *network

	closed  atomic.Bool
	drops   dropCounts
	ids     [256]atomic.Uint32 // of packets that may be cut, of each two hosts one counter of these
	cookies cookieCounts

	conns     connTable
	waits     waits
	ports     ports
	sockets   sockets
	errors    icmp.Limiter
	shares    *icmp.Shares // of errors
	errorsMu  sync.Mutex
	pathsMu   sync.Mutex
	paths     ip.Paths
	narrow    atomic.Int32 // how many of them are known
	fragsMu   sync.Mutex
	fragments *ip.Assembler
}

// New starts a stack, which takes the link over: Close closes both.
func New(cfg Config) (*Stack, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	chance := rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())) // by errorsMu
	s := &Stack{cfg: cfg, began: time.Now().Add(-time.Hour), fragments: ip.NewAssembler(cfg.Reassembly)}
	s.shares, s.errors = icmp.NewShares(cfg.ErrorRate, chance), icmp.NewLimiter(cfg.ErrorRate, chance)
	crypto.Read(s.secret[:]) //nolint:errcheck // it never fails
	s.budget.init(cfg.Memory)
	s.unsent.s = s
	s.resolver = newResolver(s)
	s.conns.init(cfg.Connections)
	s.waits.s, s.waits.most = s, cfg.Waiting
	s.sockets.init()
	if cfg.Link != nil {
		s.ifaces = append(s.ifaces, newIface(s, "link", cfg.Link, cfg.Addrs))
	}
	loopback := netip.MustParsePrefix("127.0.0.1/8")
	s.ifaces = append(s.ifaces, newIface(s, "lo", link.Loopback(), []netip.Prefix{loopback}))
	if err = s.addRoutes(); err == nil {
		s.network, err = newNetwork(s)
	}
	if err != nil {
		for _, i := range s.ifaces {
			i.link.Close() //nolint:errcheck // what is wrong is known
		}
		return nil, err
	}
	for _, i := range s.ifaces {
		for _, l := range i.lanes {
			s.done.Go(l.run) // until Close closes its link
		}
	}
	if cfg.Link != nil && cfg.Probe {
		if err := s.ifaces[0].claimed(); err != nil {
			s.Close() //nolint:errcheck // what is wrong is known
			return nil, err
		}
	}
	return s, nil
}

// Close ends the stack and all that runs on it: connections are reset, calls return net.ErrClosed.
func (s *Stack) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	for _, c := range s.conns.close() {
		c.abort()
	}
	s.waits.close()
	s.ports.closeAll()
	s.sockets.closeAll()
	var errs []error
	for _, i := range s.ifaces {
		errs = append(errs, i.link.Close())
	}
	s.done.Wait()
	return errors.Join(append(errs, s.network.net.Stop())...)
}

// now is the stack's time. It began an hour before the stack, so that no moment is zero.
func (s *Stack) now() tcp.Time { return tcp.Time(time.Since(s.began)) }

// Addrs are the stack's addresses, that of the loopback last.
func (s *Stack) Addrs() (all []netip.Prefix) {
	for _, i := range s.ifaces {
		all = append(all, i.own.Load().prefixes...)
	}
	return all
}

// owns says whether an address is the stack's: it is one that it was given, or any of the
// loopback's network.
func (s *Stack) owns(a netip.Addr) bool {
	if a.Is4() && a.IsLoopback() {
		return true
	}
	for _, i := range s.ifaces {
		if i.has(a) {
			return true
		}
	}
	return false
}

// addRoutes makes the table: what the user said, and the networks that the stack is in. Who passes
// packets on has to be a neighbour.
func (s *Stack) addRoutes() (err error) {
	var all []ip.Route
	for n, i := range s.ifaces {
		for _, a := range i.addrs {
			all = append(all, ip.Route{To: a.Masked(), Link: n})
		}
	}
	if s.routes, err = ip.NewRoutes(append(all, s.cfg.Routes...)...); err != nil {
		return err
	}
	for _, r := range s.cfg.Routes {
		if _, by, ok := s.routes.Next(r.Via); r.Via.IsValid() && (!ok || by.Via.IsValid() || by.Link != r.Link || s.configured(r.Via)) {
			return fmt.Errorf("tcpip: the route to %v by %v: that is no neighbour; name a router in one of the networks of Addrs", r.To, r.Via)
		}
		if r.Src.IsValid() && !s.configured(r.Src) {
			return fmt.Errorf("tcpip: the route to %v from %v: that is none of the stack's addresses", r.To, r.Src)
		}
	}
	return nil
}

func (s *Stack) configured(a netip.Addr) bool {
	return slices.ContainsFunc(s.cfg.Addrs, func(p netip.Prefix) bool { return p.Addr() == a })
}

// way is where a packet for an address goes: the interface, the neighbour there, and the address it
// is from. Packets for the stack itself go to the loopback.
func (s *Stack) way(dst netip.Addr) (i *iface, hop, src netip.Addr, ok bool) {
	if s.owns(dst) {
		return s.ifaces[len(s.ifaces)-1], dst, dst, true
	}
	hop, r, ok := s.routes.Next(dst)
	if !ok {
		return nil, hop, hop, false
	}
	i, src = s.ifaces[r.Link], r.Src
	if !src.IsValid() || !i.has(src) {
		src = i.source(hop)
	}
	return i, hop, src, src.IsValid()
}
