package tcpip

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"syscall"
)

// resolver asks the stack's servers.
type resolver struct {
	s    *Stack
	at   atomic.Uint32 // which of the servers is asked: the next one, once one has not answered
	over *net.Resolver
}

func newResolver(s *Stack) *resolver {
	r := &resolver{s: s}
	r.over = &net.Resolver{PreferGo: true, Dial: r.dial}
	return r
}

// Resolver is Go's own resolver over the stack: it asks the servers of Config.Resolver and no
// others, by UDP, and by TCP what does not fit. When there are none, lookups fail. /etc/hosts is
// looked into first, and timeouts, attempts and the domains that a name without a dot at its end
// may be in are as the machine's /etc/resolv.conf says; its servers are not asked. A server that
// does not answer is followed by the next one, which is then asked first.
func (s *Stack) Resolver() *net.Resolver { return s.resolver.over }

// lookup gives a name's addresses. The name is whole.
func (s *Stack) lookup(ctx context.Context, name string) ([]netip.Addr, error) {
	if len(s.cfg.Resolver) == 0 {
		return nil, &net.DNSError{Err: errNoResolver.Error(), Name: name}
	}
	if !strings.HasSuffix(name, ".") {
		name += "."
	}
	return s.resolver.over.LookupNetIP(ctx, "ip4", name)
}

// dial connects to a server of ours, whichever Go would ask. It is called again, for TCP, when what
// the server said was cut, and again when a server did not answer: then another has its turn.
func (r *resolver) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	servers := r.s.cfg.Resolver
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

// next has the one behind a server asked, unless somebody was faster.
func (r *resolver) next(at uint32) { r.at.CompareAndSwap(at, at+1) }

// question is a connection to a server. Its failure is the server's.
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

// datagramQuestion is one by UDP: Go's resolver tells it by its being a net.PacketConn.
type datagramQuestion struct {
	*question
	u *UDPConn
}

// Read implements net.Conn. A server that says that it cannot answer is one that does not.
func (q *datagramQuestion) Read(p []byte) (int, error) {
	n, err := q.question.Read(p)
	if n > 3 && (p[3]&0xf == serverFailure || p[3]&0xf == refused) {
		q.r.next(q.at)
	}
	return n, err
}

// What a server says when it cannot answer (RFC 1035, section 4.1.1): the low half of the fourth
// byte of its answer.
const (
	serverFailure = 2
	refused       = 5
)

// ReadFrom implements net.PacketConn.
func (q *datagramQuestion) ReadFrom(p []byte) (int, net.Addr, error) { return q.u.ReadFrom(p) }

// WriteTo implements net.PacketConn.
func (q *datagramQuestion) WriteTo(p []byte, a net.Addr) (int, error) { return q.u.WriteTo(p, a) }

var _ net.PacketConn = (*datagramQuestion)(nil)
