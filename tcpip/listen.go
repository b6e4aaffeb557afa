package tcpip

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"

	"weir/tcpip/tcp"
)

// ports are the TCP ports that somebody listens at.
type ports struct {
	mu sync.RWMutex
	// by address and port; the address is unspecified for who listens at all
	of map[netip.AddrPort]*Listener
}

// listener is who takes connections at an address, if somebody does.
func (p *ports) listener(local netip.AddrPort) *Listener {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if l := p.of[local]; l != nil {
		return l
	}
	return p.of[netip.AddrPortFrom(netip.IPv4Unspecified(), local.Port())]
}

func (p *ports) closeAll() {
	p.mu.RLock()
	var all []*Listener
	for _, l := range p.of {
		all = append(all, l)
	}
	p.mu.RUnlock()
	for _, l := range all {
		l.Close()
	}
}

// Listener takes connections: a net.Listener.
type Listener struct {
	s    *Stack
	addr netip.AddrPort
	open chan *Conn    // the stack -> Accept; its capacity is twice the backlog; never closed
	over chan struct{} // closed by Close
	once sync.Once

	// over is closed, or somebody looks whether it is and puts a connection into open: not both at
	// once. A leaf
	handing sync.Mutex

	server *Server // whose sessions run on the connections; nil: they are for Accept

	opening atomic.Int64 // connections that have not been given to Accept

	keeping sync.Mutex // guards kept. A leaf
	// of the room in open: taken, or kept for a connection whose handshake is through
	kept shares
	// until when SYN cookies may come back, in the stack's time; 0: none was given
	pressed atomic.Int64
}

// Listen takes connections at a TCP address of the stack's. The host may be empty, for all of them,
// and the port 0, for a free one.
func (s *Stack) Listen(network, address string) (net.Listener, error) {
	l, err := s.listen(network, address, nil)
	if err != nil {
		return nil, err
	}
	return l, nil
}

func (s *Stack) listen(network, address string, v *Server) (*Listener, error) {
	addr, err := s.localAddr("tcp", network, address)
	if err != nil {
		return nil, listenError(network, addr, err)
	}
	l := &Listener{s: s, open: make(chan *Conn, 2*s.cfg.Backlog), over: make(chan struct{}), server: v}
	l.kept.most = cap(l.open)
	p := &s.ports
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.closed.Load() {
		return nil, listenError(network, addr, net.ErrClosed)
	}
	free := func(port uint16) bool { return p.of[netip.AddrPortFrom(addr.Addr(), port)] == nil }
	port, err := choose(addr.Port(), free)
	if err != nil {
		return nil, listenError(network, addr, err)
	}
	l.addr = netip.AddrPortFrom(addr.Addr(), port)
	if p.of == nil {
		p.of = map[netip.AddrPort]*Listener{}
	}
	p.of[l.addr] = l
	return l, nil
}

// Ports that are given out (RFC 6335): the dynamic ones.
const (
	firstPort = 49152
	portCount = 1<<16 - firstPort
)

// choose is the port that is asked for, if it is free, and any free one for 0, at random (RFC 6056,
// section 3.3.1).
func choose(port uint16, free func(uint16) bool) (uint16, error) {
	if port != 0 {
		if !free(port) {
			return 0, syscall.EADDRINUSE
		}
		return port, nil
	}
	first := rand.IntN(portCount)
	for i := range portCount {
		if p := uint16(firstPort + (first+i)%portCount); free(p) {
			return p, nil
		}
	}
	return 0, syscall.EADDRNOTAVAIL
}

// localAddr reads an address of the stack's.
func (s *Stack) localAddr(kind, network, address string) (netip.AddrPort, error) {
	if network != kind && network != kind+"4" {
		return netip.AddrPort{}, net.UnknownNetworkError(network)
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return netip.AddrPort{}, err
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("the port %q is no number from 0 to 65535", port)
	}
	a := netip.IPv4Unspecified()
	if host != "" {
		if a, err = netip.ParseAddr(host); err != nil {
			return netip.AddrPort{}, err
		}
		if a = a.Unmap(); a.IsUnspecified() {
			a = netip.IPv4Unspecified() // "[::]" too is all of them
		}
	}
	if !a.IsUnspecified() && !s.owns(a) {
		err = syscall.EADDRNOTAVAIL
	}
	return netip.AddrPortFrom(a, uint16(n)), err
}

// listenError has the address, if there is one.
func listenError(network string, a netip.AddrPort, err error) error {
	if !a.IsValid() {
		return opError("listen", network, err)
	}
	return &net.OpError{Op: "listen", Net: network, Addr: addrOf(network, a), Err: err}
}

func opError(op, network string, err error) error {
	return &net.OpError{Op: op, Net: network, Err: err}
}

// begin counts a connection that is being opened, and says whether there is room for it.
func (l *Listener) begin() bool {
	if l.opening.Add(1) > int64(cap(l.open)) {
		l.opening.Add(-1)
		return false
	}
	return true
}

// full reports whether as many of a client's connections as may wait for Accept.
func (l *Listener) full(from netip.Addr) bool {
	l.keeping.Lock()
	defer l.keeping.Unlock()
	return !l.kept.fits(from, 1)
}

// keep keeps room in open for a client's connection, and reports whether there is any.
func (l *Listener) keep(from netip.Addr) bool {
	l.keeping.Lock()
	defer l.keeping.Unlock()
	return l.kept.take(from, 1)
}

// leave gives the room back.
func (l *Listener) leave(from netip.Addr) {
	l.keeping.Lock()
	defer l.keeping.Unlock()
	l.kept.give(from, 1)
}

// end counts one that is open, or will never be.
func (l *Listener) end() { l.opening.Add(-1) }

// offer gives a connection to Accept, for which room is kept, and says whether the listener is
// still there.
func (l *Listener) offer(c *Conn) bool {
	l.handing.Lock()
	defer l.handing.Unlock()
	select {
	case <-l.over:
		return false
	default:
	}
	l.open <- c // there is room
	return true
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.open:
		l.leave(c.client)
		return c, nil
	case <-l.over:
		return nil, &net.OpError{Op: "accept", Net: "tcp", Addr: l.Addr(), Err: net.ErrClosed}
	}
}

// Close implements net.Listener. Connections that nobody has accepted are reset.
func (l *Listener) Close() error {
	var err error = &net.OpError{Op: "close", Net: "tcp", Addr: l.Addr(), Err: net.ErrClosed}
	l.once.Do(func() {
		err = nil
		l.handing.Lock()
		close(l.over)
		l.handing.Unlock()
		p := &l.s.ports
		p.mu.Lock()
		delete(p.of, l.addr)
		p.mu.Unlock()
		for {
			select {
			case c := <-l.open:
				l.leave(c.client)
				c.SetLinger(0) //nolint:errcheck // it is open
				c.Close()      //nolint:errcheck // likewise
			default:
				return
			}
		}
	})
	return err
}

// Addr implements net.Listener.
func (l *Listener) Addr() net.Addr { return net.TCPAddrFromAddrPort(l.addr) }

// many says whether an address is no host's but several ones': there are no connections with those
// (RFC 9293, section 3.9.2.3).
func many(i *iface, a netip.Addr) bool {
	return a.Is4() && (a.As4()[0] >= 224 || !i.local && i.broadcast(a))
}

// from is the address that packets over an interface come from: the one that is asked for, if it is
// the stack's there, and the chosen one where none is.
func (s *Stack) from(asked netip.Addr, i *iface, chosen netip.Addr) (netip.Addr, error) {
	switch asked = asked.Unmap(); {
	case !asked.IsValid() || asked.IsUnspecified():
		return chosen, nil
	case i.local && s.owns(asked) || i.has(asked):
		return asked, nil
	}
	return asked, syscall.EADDRNOTAVAIL
}

// open begins a connection; of the local address, what is not said is chosen.
func (s *Stack) open(local, remote netip.AddrPort) (*Conn, error) {
	i, _, src, ok := s.way(remote.Addr())
	switch {
	case s.closed.Load():
		return nil, net.ErrClosed
	case !ok || many(i, remote.Addr()):
		return nil, syscall.ENETUNREACH
	case remote.Port() == 0 || !remote.Addr().Is4():
		return nil, syscall.EADDRNOTAVAIL
	case s.conns.full():
		return nil, syscall.ENOBUFS
	}
	src, err := s.from(local.Addr(), i, src)
	if err != nil {
		return nil, err
	}
	var c *Conn
	tried := 0
	if local.Port() != 0 {
		tried = triedFirst
	}
	for range 2 { // where few names are free, one of those in TIME-WAIT will do
		_, err = choose(local.Port(), func(port uint16) bool {
			tried++
			c = s.openFrom(i, tuple{netip.AddrPortFrom(src, port), remote}, tried > triedFirst)
			return c != nil || s.closed.Load()
		})
		if err == nil && c != nil {
			return c, nil
		}
	}
	if s.closed.Load() {
		return nil, net.ErrClosed
	}
	return nil, err
}

// triedFirst is how many names are tried until one may be taken that is in TIME-WAIT.
const triedFirst = 256

// openFrom begins a connection of a name, if that is free.
func (s *Stack) openFrom(i *iface, k tuple, follow bool) *Conn {
	if s.conns.get(k) != nil || i.local && s.conns.get(tuple{k.remote, k.local}) != nil {
		return nil
	}
	free, follows := s.waits.free(k, follow, i.local, s.now())
	if !free {
		return nil
	}
	c := s.newConn(i.lane(uint32(k.local.Port())), k)
	iss, stamp := s.iss(k)
	c.begin(tcp.Dial(c.cfg, follows.iss(iss), stamp))
	if !s.conns.add(c) {
		return nil
	}
	if c.lane.gone.Load() { // it may have been since before the table had c
		c.lose(s.now())
	}
	return c
}

// connect waits for the other end.
func (c *Conn) connect(ctx context.Context, tos uint8) error {
	c.mu.Lock()
	c.service = tos &^ ecnMarked
	c.writer.arm()
	c.flush(c.s.now())
	c.mu.Unlock()
	defer context.AfterFunc(ctx, c.writer.wake)()
	for {
		c.mu.Lock()
		state, failure := c.tcp.State(), c.failure()
		c.mu.Unlock()
		switch {
		case state == tcp.Closed:
			return failure
		case state != tcp.SynSent && state != tcp.SynReceived:
			return nil
		case ctx.Err() != nil:
			c.Close() //nolint:errcheck // it is
			return contextError(ctx.Err())
		}
		<-c.writer.signal
	}
}

// contextError is a context's error as package net has it.
func contextError(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return dialTimeout{}
	}
	return err
}

// dialTimeout is the error of a Dial whose context ended by its deadline. Of package net's,
// errors.Is says sometimes the one and sometimes the other.
type dialTimeout struct{}

func (dialTimeout) Error() string   { return "i/o timeout" }
func (dialTimeout) Timeout() bool   { return true }
func (dialTimeout) Temporary() bool { return true }
func (dialTimeout) Is(target error) bool {
	return target == context.DeadlineExceeded || target == os.ErrDeadlineExceeded
}

// tcpConfig is how the connections over an interface are.
func (i *iface) tcpConfig() *tcp.Config { return &i.tcp }
