package tcpip

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"syscall"
)

// resolver resolves names by the stack's DNS servers.
type resolver struct {
	s       *Stack
	servers atomic.Pointer[[]netip.AddrPort]
	// index of the server to ask, modulo their number; it rises when a server fails
	at         atomic.Uint32
	goResolver *net.Resolver
}

func newResolver(s *Stack) *resolver {
	r := &resolver{s: s}
	r.servers.Store(&s.cfg.Resolver)
	r.goResolver = &net.Resolver{PreferGo: true, Dial: r.dial}
	return r
}

// Resolver returns Go's own resolver, which asks the servers of Config.Resolver over the stack: by
// UDP, and by TCP for truncated answers. Without servers, lookups fail. It reads /etc/hosts first,
// and takes timeouts, attempts and the search list from the machine's /etc/resolv.conf, but not its
// servers. If a server does not answer, the next one is asked, and stays the first for later
// lookups.
func (s *Stack) Resolver() *net.Resolver { return s.resolver.goResolver }

// lookup returns the addresses of a fully qualified name.
func (s *Stack) lookup(ctx context.Context, name string, families family) ([]netip.Addr, error) {
	if s.cfg.Lookup != nil {
		return s.cfg.Lookup(ctx, name)
	}
	if len(*s.resolver.servers.Load()) == 0 {
		return nil, &net.DNSError{Err: errNoResolver.Error(), Name: name}
	}
	if !strings.HasSuffix(name, ".") {
		name += "."
	}
	network := map[family]string{family4: "ip4", family6: "ip6", familyBoth: "ip"}[families]
	addrs, err := s.resolver.goResolver.LookupNetIP(ctx, network, name)
	if err != nil {
		return nil, err
	}
	s.sortDestinations(addrs)
	return addrs, nil
}

// dial connects to a server of Config.Resolver, whatever address Go's resolver names. Go calls it
// again for TCP after a truncated answer, and after a timeout, when it connects to the next server.
func (r *resolver) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	servers := *r.servers.Load()
	if len(servers) == 0 {
		return nil, syscall.ENETUNREACH
	}
	at := r.at.Load()
	c, err := r.s.DialContext(ctx, network, servers[int(at)%len(servers)].String())
	if err != nil {
		r.next(at)
		return nil, err
	}
	question := &question{Conn: c, r: r, at: at}
	if u, ok := c.(*UDPConn); ok {
		return &datagramQuestion{question, u}, nil
	}
	return question, nil
}

// next moves on from the server with index at, unless another query has done so already.
func (r *resolver) next(at uint32) { r.at.CompareAndSwap(at, at+1) }

// question is a connection to a server. An error on it counts as a failure of the server.
type question struct {
	net.Conn
	r  *resolver
	at uint32
}

// Read implements net.Conn.
func (q *question) Read(p []byte) (int, error) {
	n, err := q.Conn.Read(p)
	if err != nil {
		q.r.next(q.at)
	}
	return n, err
}

// Write implements net.Conn.
func (q *question) Write(p []byte) (int, error) {
	n, err := q.Conn.Write(p)
	if err != nil {
		q.r.next(q.at)
	}
	return n, err
}

// datagramQuestion is a question by UDP. Go's resolver recognizes UDP by net.PacketConn.
type datagramQuestion struct {
	*question
	u *UDPConn
}

// Read implements net.Conn. An answer of SERVFAIL or REFUSED counts as a failure of the server.
func (q *datagramQuestion) Read(p []byte) (int, error) {
	n, err := q.question.Read(p)
	if n > 3 && (p[3]&0xf == serverFailure || p[3]&0xf == refused) {
		q.r.next(q.at)
	}
	return n, err
}

// Response codes of a server that cannot answer (RFC 1035, section 4.1.1), in the low half of the
// fourth byte of the answer.
const (
	serverFailure = 2
	refused       = 5
)

// ReadFrom implements net.PacketConn.
func (q *datagramQuestion) ReadFrom(p []byte) (int, net.Addr, error) { return q.u.ReadFrom(p) }

// WriteTo implements net.PacketConn.
func (q *datagramQuestion) WriteTo(p []byte, a net.Addr) (int, error) { return q.u.WriteTo(p, a) }

var _ net.PacketConn = (*datagramQuestion)(nil)
