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

// Stack is a TCP/IP host in user space. Its methods may be called from any goroutine.
type Stack struct {
	// Immutable.
	cfg           Config
	ifaces        []*iface // the interface of Config.Link, if any, and then the loopback
	startedAt     time.Time
	secret        [16]byte // key of the hashes for sequence numbers, cookies and packet IDs
	readersDone   sync.WaitGroup
	budget        budget
	outputAccount outputAccount
	resolver      *resolver
	packetNet     *packetNet

	routes      atomic.Pointer[ip.Routes]
	configMu    sync.Mutex // held while addresses and routes change
	extraRoutes []ip.Route // beside those to the interfaces' networks; guarded by configMu

	forwarding atomic.Pointer[forwarding] // nil: packets for other addresses are dropped

	closed    atomic.Bool
	closeOnce sync.Once
	closeErr  error // set by closeOnce
	drops     dropCounts
	// counters of IPv4 Identification; a pair of hosts always uses the same one
	packetIDs [256]atomic.Uint32
	cookies   cookieCounts

	conns        connTable
	timeWaits    timeWaitTable
	listeners    listenerTable
	sockets      sockets
	errorLimiter icmp.Limiter
	errorShares  *icmp.GroupLimiter // rate limit of ICMP errors, by destination
	errorsMu     sync.Mutex
	pathsMu      sync.Mutex
	paths        ip.Paths
	narrowPaths  atomic.Int32 // number of paths with an MTU below the link's
	fragsMu      sync.Mutex
	fragments    *ip.Reassembler
}

// New starts a stack. It takes the link over: Close closes both.
func New(cfg Config) (*Stack, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	chance := rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())) // guarded by errorsMu
	s := &Stack{cfg: cfg, startedAt: time.Now().Add(-time.Hour), fragments: ip.NewReassembler(cfg.Reassembly)}
	s.errorShares, s.errorLimiter = icmp.NewGroupLimiter(cfg.ErrorRate, chance), icmp.NewLimiter(cfg.ErrorRate, chance)
	crypto.Read(s.secret[:]) //nolint:errcheck // it never fails
	s.budget.init(cfg.Memory)
	s.outputAccount.s = s
	s.resolver = newResolver(s)
	s.conns.init(cfg.Connections)
	s.timeWaits.s, s.timeWaits.limit = s, cfg.MaxTimeWait
	s.sockets.init()
	if cfg.Link != nil {
		s.ifaces = append(s.ifaces, newIface(s, "link", cfg.Link, cfg.Addrs))
	}
	s.ifaces = append(s.ifaces, newIface(s, "lo", link.Loopback(), loopbackAddrs))
	s.configMu.Lock()
	err = s.setRoutesLocked(cfg.Routes)
	s.configMu.Unlock()
	if err == nil {
		s.packetNet, err = newPacketNet(s)
	}
	if err != nil {
		for _, i := range s.ifaces {
			i.link.Close() //nolint:errcheck // what is wrong is known
		}
		return nil, err
	}
	for _, i := range s.ifaces {
		for _, l := range i.readers {
			s.readersDone.Go(l.run) // until Close closes its link
		}
	}
	if cfg.Link != nil && cfg.ProbeAddrs && s.ifaces[0].resolvesNeighbours() {
		if err := s.ifaces[0].awaitClaims(); err != nil {
			s.Close() //nolint:errcheck // what is wrong is known
			return nil, err
		}
	}
	return s, nil
}

// loopbackAddrs are the addresses of the loopback interface.
var loopbackAddrs = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/8"), netip.PrefixFrom(netip.IPv6Loopback(), 128)}

// Close closes the stack: connections are reset, and pending calls return net.ErrClosed.
func (s *Stack) Close() error {
	s.closeOnce.Do(func() { s.closeErr = s.close() })
	return s.closeErr
}

func (s *Stack) close() error {
	s.closed.Store(true)
	for _, c := range s.conns.close() {
		c.abort()
	}
	s.timeWaits.close()
	s.listeners.closeAll()
	s.sockets.closeAll()
	var errs []error
	for _, i := range s.ifaces {
		errs = append(errs, i.link.Close())
	}
	s.readersDone.Wait()
	return errors.Join(append(errs, s.packetNet.net.Stop())...)
}

// now returns the stack's time. It starts an hour before New, so that 0 can mean "no time".
func (s *Stack) now() tcp.Time { return tcp.Time(time.Since(s.startedAt)) }

// Addrs returns the stack's addresses, the loopback's last.
func (s *Stack) Addrs() (all []netip.Prefix) {
	for _, i := range s.ifaces {
		all = append(all, i.ownAddrs.Load().prefixes...)
	}
	return all
}

// owns reports whether a is an address of the stack, or any loopback address.
func (s *Stack) owns(a netip.Addr) bool {
	if a.Is4() && a.IsLoopback() {
		return true
	}
	for _, i := range s.ifaces {
		if i.hasAddr(a) {
			return true
		}
	}
	return false
}

// setRoutesLocked makes the routing table from extra routes and the networks of the interfaces. A
// router must be a neighbour. The caller holds configMu.
func (s *Stack) setRoutesLocked(extra []ip.Route) error {
	table, err := s.routesWithLocked(extra)
	if err != nil {
		return err
	}
	for _, r := range extra {
		if r.Via.IsValid() && !s.isNeighbour(table, &r) {
			return fmt.Errorf("tcpip: the route to %v by %v: the router is not on the link; use a router in one of the networks of Addrs", r.To, r.Via)
		}
		if r.Src.IsValid() && !s.isConfigured(r.Src) {
			return fmt.Errorf("tcpip: the route to %v from %v: the source is not an address of the stack", r.To, r.Src)
		}
	}
	s.extraRoutes = extra
	s.routes.Store(&table)
	return nil
}

// useRoutesLocked is setRoutesLocked without those extra routes that cannot be used now. The caller
// holds configMu.
func (s *Stack) useRoutesLocked(extra []ip.Route) {
	table, err := s.routesWithLocked(nil)
	if err != nil {
		return // it cannot happen: the networks were checked when they were added
	}
	usable := slices.DeleteFunc(slices.Clone(extra), func(r ip.Route) bool { return r.Via.IsValid() && !s.isNeighbour(table, &r) })
	if table, err = s.routesWithLocked(usable); err == nil {
		s.routes.Store(&table)
	}
}

// routesWithLocked returns the routes to the networks of the interfaces, extra ones, and those that
// routers have announced. The caller holds configMu.
func (s *Stack) routesWithLocked(extra []ip.Route) (ip.Routes, error) {
	var all []ip.Route
	for n, i := range s.ifaces {
		for _, a := range i.configured() {
			if !a.Addr().IsLinkLocalUnicast() || a.Addr().Is4() {
				all = append(all, ip.Route{To: a.Masked(), Link: n})
			}
		}
	}
	all = append(all, extra...)
	for n, i := range s.ifaces {
		all = append(all, i.autoRoutesLocked(n)...)
	}
	return ip.NewRoutes(all...)
}

// isNeighbour reports whether the router of a route is another host on the route's link.
func (s *Stack) isNeighbour(table ip.Routes, r *ip.Route) bool {
	if r.Via.Is6() && r.Via.IsLinkLocalUnicast() {
		return true
	}
	_, by, ok := table.Next(r.Via)
	return ok && !by.Via.IsValid() && by.Link == r.Link && !s.isConfigured(r.Via)
}

// isConfigured reports whether an address is configured on a link.
func (s *Stack) isConfigured(a netip.Addr) bool {
	return slices.ContainsFunc(s.ifaces, func(i *iface) bool {
		return !i.loopback && slices.ContainsFunc(i.configured(), func(p netip.Prefix) bool { return p.Addr() == a.WithZone("") })
	})
}

// routeTo returns where a packet for dst goes: the interface, the next hop and the source address.
// Packets for the stack itself go to the loopback.
func (s *Stack) routeTo(dst netip.Addr) (i *iface, hop, src netip.Addr, ok bool) {
	if s.owns(dst) {
		return s.ifaces[len(s.ifaces)-1], dst, dst, true
	}
	if isLinkScoped(dst) || dst.IsMulticast() || dst == limitedBroadcast {
		i = s.linkOf(dst)
		src = i.sourceFor(dst)
		return i, dst, src, src.IsValid()
	}
	hop, r, ok := s.routes.Load().Next(dst)
	if !ok {
		return nil, hop, hop, false
	}
	i, src = s.ifaces[r.Link], r.Src
	if !src.IsValid() || !i.hasAddr(src) {
		src = i.sourceOn(hop, dst)
	}
	return i, i.zoned(hop), src, src.IsValid()
}

// limitedBroadcast is the address of all hosts on the link (RFC 1122, section 3.2.1.3 (c)).
var limitedBroadcast = netip.AddrFrom4([4]byte{255, 255, 255, 255})

// linkOf returns the interface of a link-local address or of a group: that of its zone, or the
// first.
func (s *Stack) linkOf(a netip.Addr) *iface {
	if n := s.zoneNumber(a.Zone()); n > 0 {
		return s.ifaces[n-1]
	}
	return s.ifaces[0]
}
