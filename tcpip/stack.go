package tcpip

import (
	"context"
	crypto "crypto/rand"
	"errors"
	"math/rand/v2"
	"net/netip"
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
	ifaces        []*iface // those of the links, in the order of Config, and then the loopback
	startedAt     time.Time
	random        *rand.Rand // for all goroutines
	secret        [16]byte   // key of the hashes for sequence numbers, cookies and packet IDs
	readersDone   sync.WaitGroup
	budget        budget
	outputAccount outputAccount
	resolver      *resolver
	packetNet     *packetNet

	routes      atomic.Pointer[ip.Routes]
	configMu    sync.Mutex // held while addresses and routes change
	extraRoutes []ip.Route // beside those to the interfaces' networks; guarded by configMu

	configuredServers []netip.AddrPort // DNS servers of the configuration; guarded by configMu
	learned           []learnedFrom    // guarded by configMu
	watchers          watchers

	forwarding atomic.Pointer[forwarding] // nil: packets for other addresses are dropped

	groupOps atomic.Pointer[groupOps] // nil: no socket has joined a group yet

	closed    atomic.Bool
	done      chan struct{} // closed by Close
	closeOnce sync.Once
	closeErr  error // set by closeOnce
	drops     dropCounts
	// counters of IPv4 Identification; a pair of hosts always uses the same one
	packetIDs [256]atomic.Uint32
	cookies   cookieCounts
	fastOpens fastOpenCache

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

// New starts a stack. It takes the links over: Close closes them too.
func New(cfg Config) (*Stack, error) { return NewContext(context.Background(), cfg) }

// NewContext is New, and ends with the context's error when that ends: with Config.ProbeAddrs, New
// takes seconds.
func NewContext(ctx context.Context, cfg Config) (*Stack, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Stack{cfg: cfg, random: newRandom(), startedAt: time.Now().Add(-time.Hour), done: make(chan struct{}), fragments: ip.NewReassembler(cfg.Reassembly)}
	s.errorShares, s.errorLimiter = icmp.NewGroupLimiter(cfg.ErrorRate, s.random), icmp.NewLimiter(cfg.ErrorRate, s.random)
	crypto.Read(s.secret[:]) //nolint:errcheck // it never fails
	s.budget.init(cfg.Memory)
	s.outputAccount.s = s
	s.resolver, s.configuredServers = newResolver(s), cfg.Resolver
	s.conns.init(cfg.Connections, s.budget.lightConns())
	s.timeWaits.s, s.timeWaits.limit = s, cfg.MaxTimeWait
	s.sockets.init()
	for _, c := range append(cfg.interfaces(), Interface{Name: "lo", Link: link.Loopback(), Addrs: loopbackAddrs}) {
		s.ifaces = append(s.ifaces, newIface(s, len(s.ifaces), c))
	}
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
			l.offerDirect()
			s.readersDone.Go(l.run) // until Close closes its link
		}
	}
	if err := s.awaitClaims(ctx); err != nil {
		s.Close() //nolint:errcheck // what is wrong is known
		return nil, err
	}
	return s, nil
}

// loopbackAddrs are the addresses of the loopback interface.
var loopbackAddrs = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/8"), netip.PrefixFrom(netip.IPv6Loopback(), 128)}

// Done returns a channel that is closed when Close is called, for programs that work for the stack
// in the background.
func (s *Stack) Done() <-chan struct{} { return s.done }

// Close closes the stack: connections are reset, and pending calls return net.ErrClosed.
func (s *Stack) Close() error {
	s.closeOnce.Do(func() { s.closeErr = s.close() })
	return s.closeErr
}

func (s *Stack) close() error {
	s.closed.Store(true)
	close(s.done)
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

// awaitClaims waits until the addresses of all links are claimed, if the configuration wants it.
func (s *Stack) awaitClaims(ctx context.Context) error {
	for _, i := range s.ifaces {
		if s.cfg.ProbeAddrs && i.resolvesNeighbours() {
			if err := i.awaitClaims(ctx); err != nil {
				return err
			}
		}
	}
	return nil
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
