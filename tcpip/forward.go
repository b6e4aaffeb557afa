package tcpip

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"sync"
	"syscall"

	"weir/tcpip/icmp"
	"weir/tcpip/tcp"
	"weir/wire"
)

// Forwarder receives what arrives for addresses that are not the stack's: as a router would, but
// the stack is the other end. Its functions are called by a reader's goroutine and must not block:
// to wait, for example for a connection onward, they start a goroutine. Each request must be
// answered by one of its methods, at any time and from any goroutine.
type Forwarder struct {
	// TCP gets the first SYN of a connection; nil: such segments are dropped.
	TCP func(*TCPRequest)
	// UDP gets the first datagram between two ports; nil: datagrams are dropped.
	UDP func(*UDPRequest)
	// Echo gets ICMP echo requests, each of them; nil: they are dropped.
	Echo func(*EchoRequest)
	// limit of requests that are not answered; beyond it, packets are dropped. One client may have
	// as many as are left free for others. Default 1,024
	Pending int
}

// forwarding is the state of a forwarder.
type forwarding struct {
	Forwarder

	mu      sync.Mutex
	pending map[forwardKey]bool // requests, and whether their answer has begun
	shares  clientShares        // of pending, by client
}

// forwardKey identifies a request.
type forwardKey struct {
	tuple
	protocol wire.Protocol
}

// Forward has f receive connections and datagrams to all addresses that are not the stack's. It
// replaces an earlier Forwarder; the zero one ends forwarding. Requests that are pending stay
// valid. Packets to broadcast addresses, groups and loopback addresses are not forwarded.
func (s *Stack) Forward(f Forwarder) {
	if f.TCP == nil && f.UDP == nil && f.Echo == nil {
		s.forwarding.Store(nil)
		return
	}
	setDefault(&f.Pending, 1024)
	s.forwarding.Store(&forwarding{Forwarder: f, pending: map[forwardKey]bool{}, shares: clientShares{limit: f.Pending}})
}

// forwards reports whether packets for dst, which is not an address of the stack, are forwarded.
func (s *Stack) forwards(dst netip.Addr) bool {
	if s.forwarding.Load() == nil || !dst.IsValid() || dst.IsUnspecified() || dst.IsMulticast() || dst.IsLoopback() || isLinkScoped(dst) {
		return false
	}
	return dst.Is6() || dst.As4()[0] != 0 && dst.As4()[0] < 224
}

// begin adds a request, and reports whether it is new and there is room for it.
func (f *forwarding) begin(k forwardKey, client netip.Addr) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, known := f.pending[k]; known || !f.shares.acquire(client, 1) {
		return false
	}
	f.pending[k] = false
	return true
}

// take begins the answer to a request, and reports whether there was none yet. Until end, further
// packets of the client do not make another request.
func (f *forwarding) take(k forwardKey) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if taken, known := f.pending[k]; taken || !known {
		return false
	}
	f.pending[k] = true
	return true
}

// end removes a request that is answered.
func (f *forwarding) end(k forwardKey, client netip.Addr) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.pending, k)
	f.shares.release(client, 1)
}

// request is what requests of both protocols have.
type request struct {
	f      *forwarding
	reader *reader
	key    forwardKey
	client netip.Addr
	quote  []byte // the start of the packet, for errors to quote; nil: none may be sent about it
}

// newRequest makes the request of a packet; nil if it is known already, or there is no room for it.
func (p *packet) newRequest(k tuple) *request {
	f := p.reader.s.forwarding.Load()
	r := &request{f: f, reader: p.reader, key: forwardKey{k, p.protocol}, client: p.clientAddr()}
	if f == nil || !f.begin(r.key, r.client) {
		return nil
	}
	if quote, ok := p.quote(); ok {
		r.quote = slices.Clone(quote)
	}
	return r
}

// quote returns what an error about the packet quotes, and whether one may be sent (RFC 1122,
// section 3.2.2; RFC 4443, section 2.4).
func (p *packet) quote() ([]byte, bool) {
	if p.dst.Is6() {
		return icmp.QuoteV6(wire.IPv6(p.ip), p.broadcast, icmp.HostUnreachable)
	}
	return icmp.Quote(wire.IPv4(p.ip), p.broadcast)
}

// answer calls do unless the request was answered before, and reports whether it did.
func (r *request) answer(do func()) bool {
	if !r.f.take(r.key) {
		return false
	}
	defer r.f.end(r.key, r.client)
	do()
	return true
}

// From is the client's address.
func (r *request) From() netip.AddrPort { return r.key.remote }

// To is the address that the client has sent to.
func (r *request) To() netip.AddrPort { return r.key.local }

// Drop answers nothing: the client tries again, and in the end times out.
func (r *request) Drop() { r.answer(func() {}) }

// Reject answers as a network does that gave the error: ECONNREFUSED, ENETUNREACH, EACCES and
// EHOSTUNREACH are sent to the client, a timeout and others are not. So the client sees what a
// failed connection onward has seen.
func (r *request) Reject(err error) {
	r.answer(func() { r.sendError(problemOf(err)) })
}

// problemOf returns what reports an error to a client; NoProblem: nothing does.
func problemOf(err error) icmp.Problem {
	for e, what := range map[error]icmp.Problem{syscall.ECONNREFUSED: icmp.PortUnreachable, syscall.ENETUNREACH: icmp.NetUnreachable, syscall.EHOSTUNREACH: icmp.HostUnreachable,
		syscall.EACCES: icmp.Prohibited, syscall.EPERM: icmp.Prohibited} {
		if errors.Is(err, e) {
			return what
		}
	}
	return icmp.NoProblem
}

// TCPRequest is a client's attempt to connect to an address that is not the stack's.
type TCPRequest struct {
	request
	syn tcp.Segment
}

// forwardSYN gives a SYN to the forwarder.
func (p *packet) forwardSYN(k tuple, seg *tcp.Segment) {
	f := p.reader.s.forwarding.Load()
	if f == nil || f.TCP == nil {
		p.drop(DropTCPPort)
		return
	}
	r := p.newRequest(k)
	if r == nil {
		p.drop(DropBacklog)
		return
	}
	if p.reader.s.conns.get(k) != nil { // accepted since it was looked up: this SYN is repeated
		r.Drop()
		return
	}
	syn := *seg
	syn.Payload = nil // valid during this call only; the client sends it again
	f.TCP(&TCPRequest{*r, syn})
}

// Reject is request.Reject. ECONNREFUSED resets the connection.
func (r *TCPRequest) Reject(err error) {
	if !errors.Is(err, syscall.ECONNREFUSED) {
		r.request.Reject(err)
		return
	}
	r.answer(func() { r.reader.s.sendReset(r.key.tuple, &r.syn) })
}

// Accept completes the handshake and returns the connection. Its local address is the one that the
// client has connected to. The error is the context's, or states why the connection ended, or that
// the request was answered before.
func (r *TCPRequest) Accept(ctx context.Context) (*Conn, error) {
	c, err := r.open(func(*Conn) {})
	if err != nil {
		return nil, err
	}
	if err := c.connect(ctx, 0); err != nil {
		return nil, c.wrap("accept", err)
	}
	return c, nil
}

// open answers the request by a connection in its handshake, which begin completes before segments
// reach it. The caller sends its SYN,ACK.
func (r *TCPRequest) open(begin func(*Conn)) (*Conn, error) {
	s := r.reader.s
	c := s.newConn(r.reader, r.key.tuple)
	added := false
	if !r.answer(func() {
		c.client = r.client
		begin(c)
		iss, stamp := s.initialSeq(r.key.tuple)
		c.initState(tcp.Accept(c.cfg, iss, stamp, &r.syn, s.now()))
		added = s.conns.add(c)
	}) {
		return nil, opError("accept", "tcp", errRequestAnswered)
	}
	if !added {
		return nil, opError("accept", "tcp", syscall.ENOBUFS)
	}
	return c, nil
}

var errRequestAnswered = errors.New("the request is answered already")

// UDPRequest is the first datagram from a port to an address that is not the stack's.
type UDPRequest struct {
	request
	first datagram
}

// forwardDatagram gives a datagram to the forwarder.
func (p *packet) forwardDatagram(d datagram, local netip.AddrPort) layer {
	f := p.reader.s.forwarding.Load()
	if f == nil || f.UDP == nil {
		return p.drop(DropUDPPort)
	}
	r := p.newRequest(tuple{local, d.from})
	if r == nil {
		return p.drop(DropSocketFull)
	}
	// accepted meanwhile?
	if u := p.reader.s.sockets.udpFor(p.reader.iface, local, d.from); u != nil && u.foreign {
		r.Drop()
		u.enqueue(d)
		return consumed
	}
	f.UDP(&UDPRequest{*r, d})
	return consumed
}

// Payload is the datagram. Datagrams that arrive while the request is pending are dropped.
func (r *UDPRequest) Payload() []byte { return r.first.payload }

// Report sends the client an ICMP error, as Reject does, but the request may be answered already:
// what was sent onward has failed.
func (r *UDPRequest) Report(err error) {
	r.sendError(problemOf(err))
}

// Accept returns a socket that is connected to the client, with the first datagram to read. Its
// local address is the one that the client has sent to.
func (r *UDPRequest) Accept() (*UDPConn, error) {
	u := &UDPConn{s: r.reader.s, local: r.key.local, remote: r.key.remote, family: familyFor(r.key.local.Addr()), foreign: true}
	u.readWaiter = newWaiter()
	var err error
	if !r.answer(func() {
		if err = u.s.sockets.addUDP(u); err == nil {
			u.enqueue(r.first)
		}
	}) {
		err = errRequestAnswered
	}
	if err != nil {
		return nil, opError("accept", "udp", err)
	}
	return u, nil
}

// EchoRequest is an ICMP echo request to an address that is not the stack's. The ports of its
// addresses are 0.
type EchoRequest struct {
	request
	rest uint32 // the identifier and the sequence number
	data []byte
}

// forwardEcho gives an echo request to the forwarder.
func (p *packet) forwardEcho(rest uint32, data []byte) layer {
	f := p.reader.s.forwarding.Load()
	if f == nil || f.Echo == nil {
		return p.drop(DropNotOurs)
	}
	// the request's key has the identifier and the sequence number in place of ports
	r := p.newRequest(tuple{netip.AddrPortFrom(p.dst, uint16(rest)), netip.AddrPortFrom(p.src, uint16(rest>>16))})
	if r == nil {
		return p.drop(DropSocketFull)
	}
	f.Echo(&EchoRequest{*r, rest, slices.Clone(data)})
	return consumed
}

// From is the client's address.
func (r *EchoRequest) From() netip.Addr { return r.key.remote.Addr() }

// To is the address that the client has sent to.
func (r *EchoRequest) To() netip.Addr { return r.key.local.Addr() }

// Data is what the reply must have too.
func (r *EchoRequest) Data() []byte { return r.data }

// Reply answers with an echo reply.
func (r *EchoRequest) Reply() {
	src, dst := r.To(), r.From()
	r.answer(func() {
		message := wire.AppendICMP(nil, wire.EchoReply, 0, r.rest, r.data)
		if dst.Is6() {
			message = wire.AppendICMPv6(nil, src, dst, wire.EchoReply6, 0, r.rest, r.data)
		}
		r.reader.s.sendIP(outgoingPacket{protocol: icmpProtocol(dst), src: src, dst: dst, foreign: true}, message) //nolint:errcheck // it is counted
	})
}

// sendError sends an ICMP error about the packet that was not forwarded, unless the RFCs or the
// rate limit forbid it, from an address of the stack if it has one of the family.
func (r *request) sendError(what icmp.Problem) {
	s, i, from, to := r.reader.s, r.reader.iface, r.To().Addr(), r.From().Addr()
	if what == icmp.NoProblem || r.quote == nil || !s.mayReport(to) {
		return
	}
	if own := i.sourceFor(to); own.IsValid() {
		from = own
	}
	message := icmp.AppendError(nil, what, 0, r.quote)
	if to.Is6() {
		message = icmp.AppendErrorV6(nil, from, to, what, 0, r.quote)
	}
	s.sendIP(outgoingPacket{protocol: icmpProtocol(to), src: from, dst: to, foreign: true}, message) //nolint:errcheck // it is counted
}
