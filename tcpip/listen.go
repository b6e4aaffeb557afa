package tcpip

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"weir/tcpip/tcp"
)

// listenerTable has the open listeners of the stack.
type listenerTable struct {
	mu     sync.RWMutex
	byPort map[uint16][]*Listener
}

// lookup returns the listener for a local address; nil: none.
func (p *listenerTable) lookup(local netip.AddrPort) *Listener {
	p.mu.RLock()
	defer p.mu.RUnlock()
	for _, l := range p.byPort[local.Port()] { // no other listener has the address too
		if includes(l.addr.Addr(), l.only6, local.Addr()) {
			return l
		}
	}
	return nil
}

// isFree reports whether a listener may have an address: as with Linux, no other one has it or one
// that includes it, such as 0.0.0.0.
func (p *listenerTable) isFree(a netip.AddrPort, only6 bool) bool {
	return !slices.ContainsFunc(p.byPort[a.Port()], func(l *Listener) bool {
		return includes(a.Addr(), only6, l.addr.Addr()) || includes(l.addr.Addr(), l.only6, a.Addr())
	})
}

// remove removes a listener.
func (p *listenerTable) remove(l *Listener) {
	p.mu.Lock()
	defer p.mu.Unlock()
	port := l.addr.Port()
	if p.byPort[port] = slices.DeleteFunc(p.byPort[port], func(o *Listener) bool { return o == l }); len(p.byPort[port]) == 0 {
		delete(p.byPort, port)
	}
}

// all returns the listeners, in no order.
func (p *listenerTable) all() []*Listener {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return slices.Concat(slices.Collect(maps.Values(p.byPort))...)
}

// includes reports whether a listener at the address a, for IPv6 only or not, is one at b too.
func includes(a netip.Addr, only6 bool, b netip.Addr) bool {
	switch a {
	case b, netip.IPv4Unspecified():
		return a == b || b.Is4()
	case netip.IPv6Unspecified():
		return b.Is6() || !only6
	}
	return false
}

func (p *listenerTable) closeAll() {
	for _, l := range p.all() {
		l.Close()
	}
}

// Listener is a net.Listener of the stack.
type Listener struct {
	s           *Stack
	addr        netip.AddrPort
	only6       bool          // [::] does not include IPv4
	acceptQueue chan *Conn    // the stack -> Accept; capacity: twice the backlog; never closed
	done        chan struct{} // closed by Close
	closeOnce   sync.Once
	deadline    acceptDeadline

	// held while done is closed, and while enqueue checks done and sends to acceptQueue: not both
	// at once. Only the lock of a ReadyQueue is taken under it
	handoverMu sync.Mutex
	ready      *readySource // its entry in a ReadyQueue; nil: none. Guarded by handoverMu

	server sessionStarter // runs sessions on the connections; nil: they are for Accept
	// configurations of connections, two for each interface, for IPv4 and IPv6; nil: those of the
	// interfaces
	configs []listenerTCPConfig
	tos     uint8 // of everything sent

	fastOpens  fastOpenQueue
	handshakes atomic.Int64 // connections in their handshake

	reservedMu sync.Mutex // guards reserved. No other lock is taken under it
	// places in acceptQueue, by client: used, or reserved for a completed handshake
	reserved clientShares
	// until when SYN cookies are accepted, as a tcp.Time; 0: none was sent
	cookiesUntil atomic.Int64
}

// Listen listens at a TCP address of the stack. An empty host means all addresses, port 0 any free
// port.
func (s *Stack) Listen(network, address string) (net.Listener, error) {
	return (&ListenConfig{Stack: s}).Listen(context.Background(), network, address)
}

// listen listens with a configuration, for a server or, if it is nil, for Accept.
func (o *ListenConfig) listen(network, address string, v sessionStarter) (*Listener, error) {
	s := o.Stack
	addr, err := s.localAddr("tcp", network, address)
	if err != nil {
		return nil, listenError(network, addr, err)
	}
	l := &Listener{s: s, only6: network == "tcp6", acceptQueue: make(chan *Conn, 2*cmp.Or(max(0, o.Backlog), s.cfg.Backlog)), done: make(chan struct{}), server: v, configs: o.configs(), tos: o.TOS}
	l.reserved.limit, l.fastOpens.limit = cap(l.acceptQueue), max(0, o.FastOpen)
	p := &s.listeners
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.closed.Load() {
		return nil, listenError(network, addr, net.ErrClosed)
	}
	free := func(port uint16) bool { return p.isFree(netip.AddrPortFrom(addr.Addr(), port), l.only6) }
	port, err := choosePort(s.random, addr.Port(), free)
	if err != nil {
		return nil, listenError(network, addr, err)
	}
	l.addr = netip.AddrPortFrom(addr.Addr(), port)
	if p.byPort == nil {
		p.byPort = map[uint16][]*Listener{}
	}
	p.byPort[port] = append(p.byPort[port], l)
	return l, nil
}

// Ephemeral ports: the dynamic ports of RFC 6335.
const (
	firstPort = 49152
	portCount = 1<<16 - firstPort
)

// choosePort returns the port asked for, if it is free. For port 0 it returns a random free port
// (RFC 6056, section 3.3.1).
func choosePort(random *rand.Rand, port uint16, free func(uint16) bool) (uint16, error) {
	if port != 0 {
		if !free(port) {
			return 0, syscall.EADDRINUSE
		}
		return port, nil
	}
	first := random.IntN(portCount)
	for i := range portCount {
		if p := uint16(firstPort + (first+i)%portCount); free(p) {
			return p, nil
		}
	}
	return 0, syscall.EADDRNOTAVAIL
}

// localAddr parses an address of the stack.
func (s *Stack) localAddr(kind, network, address string) (netip.AddrPort, error) {
	family, known := familyOf(kind, network)
	if !known {
		return netip.AddrPort{}, net.UnknownNetworkError(network)
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return netip.AddrPort{}, err
	}
	n, err := portNames.LookupPort(context.Background(), network, port)
	if err != nil {
		return netip.AddrPort{}, err
	}
	a := family.unspecified()
	if host != "" {
		if a, err = netip.ParseAddr(host); err != nil {
			return netip.AddrPort{}, err
		}
		a = s.canonicalAddr(a)
	}
	if a.IsUnspecified() && family == familyBoth {
		a = family.unspecified() // as with package net, 0.0.0.0 is one of both families
	}
	switch {
	case !family.has(a):
		err = &net.AddrError{Err: "no suitable address found", Addr: host}
	case !a.IsUnspecified() && !s.owns(a) && !(kind == "udp" && a.IsMulticast()):
		err = syscall.EADDRNOTAVAIL
	}
	return netip.AddrPortFrom(a, uint16(n)), err
}

// listenError makes the error of a failed listen, with the address if it was parsed.
func listenError(network string, a netip.AddrPort, err error) error {
	if !a.IsValid() {
		return opError("listen", network, err)
	}
	return &net.OpError{Op: "listen", Net: network, Addr: addrOf(network, a), Err: err}
}

func opError(op, network string, err error) error {
	return &net.OpError{Op: op, Net: network, Err: err}
}

// beginHandshake counts a new handshake, and reports whether there is room for it.
func (l *Listener) beginHandshake() bool {
	if l.handshakes.Add(1) > int64(cap(l.acceptQueue)) {
		l.handshakes.Add(-1)
		return false
	}
	return true
}

// backlogFull reports whether the client has as many connections waiting for Accept as it may.
func (l *Listener) backlogFull(from netip.Addr) bool {
	l.reservedMu.Lock()
	defer l.reservedMu.Unlock()
	return !l.reserved.fits(from, 1)
}

// reserve reserves a place in acceptQueue for a client, and reports whether one was free.
func (l *Listener) reserve(from netip.Addr) bool {
	l.reservedMu.Lock()
	defer l.reservedMu.Unlock()
	return l.reserved.acquire(from, 1)
}

// release frees a client's place in acceptQueue.
func (l *Listener) release(from netip.Addr) {
	l.reservedMu.Lock()
	defer l.reservedMu.Unlock()
	l.reserved.release(from, 1)
}

// endHandshake counts a handshake that has succeeded or failed.
func (l *Listener) endHandshake() { l.handshakes.Add(-1) }

// enqueue gives a connection with a reserved place to Accept, and reports whether the listener is
// open.
func (l *Listener) enqueue(c *Conn) bool {
	l.handoverMu.Lock()
	defer l.handoverMu.Unlock()
	select {
	case <-l.done:
		return false
	default:
	}
	l.acceptQueue <- c // does not block: a place is reserved
	l.ready.mark(ReadReady)
	return true
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		passed, changed, stop := l.deadline.wait()
		select {
		case c := <-l.acceptQueue:
			stop()
			l.release(c.client)
			return c, nil
		case <-l.done:
			stop()
			return nil, &net.OpError{Op: "accept", Net: "tcp", Addr: l.Addr(), Err: net.ErrClosed}
		case <-passed:
			return nil, &net.OpError{Op: "accept", Net: "tcp", Addr: l.Addr(), Err: os.ErrDeadlineExceeded}
		case <-changed:
			stop()
		}
	}
}

// SetDeadline sets the time until which Accept waits; zero: without limit. It applies to calls that
// wait already, too.
func (l *Listener) SetDeadline(t time.Time) error {
	select {
	case <-l.done:
		return &net.OpError{Op: "set", Net: "tcp", Addr: l.Addr(), Err: net.ErrClosed}
	default:
	}
	l.deadline.set(t)
	return nil
}

// acceptDeadline is the deadline of Accept.
type acceptDeadline struct {
	mu      sync.Mutex
	at      time.Time     // zero: none
	changed chan struct{} // closed, and replaced, when at changes; nil: nothing has waited yet
}

// set changes the deadline.
func (d *acceptDeadline) set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at = t
	if d.changed != nil {
		close(d.changed)
		d.changed = nil
	}
}

// wait returns a channel that gets a value when the deadline has passed, nil for none, and one that
// is closed when it changes. stop releases the first.
func (d *acceptDeadline) wait() (passed <-chan time.Time, changed <-chan struct{}, stop func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.changed == nil {
		d.changed = make(chan struct{})
	}
	if d.at.IsZero() {
		return nil, d.changed, func() {}
	}
	timer := time.NewTimer(time.Until(d.at))
	return timer.C, d.changed, func() { timer.Stop() }
}

// Close implements net.Listener. Connections that wait for Accept are reset.
func (l *Listener) Close() error {
	var err error = &net.OpError{Op: "close", Net: "tcp", Addr: l.Addr(), Err: net.ErrClosed}
	l.closeOnce.Do(func() {
		err = nil
		l.handoverMu.Lock()
		close(l.done)
		l.ready.mark(ReadReady)
		l.ready = nil
		l.handoverMu.Unlock()
		l.s.listeners.remove(l)
		for {
			select {
			case c := <-l.acceptQueue:
				l.release(c.client)
				c.SetLinger(0) //nolint:errcheck // it is open
				c.Close()      //nolint:errcheck // it is open
			default:
				return
			}
		}
	})
	return err
}

// Addr implements net.Listener.
func (l *Listener) Addr() net.Addr { return net.TCPAddrFromAddrPort(l.addr) }

// isGroupAddr reports whether an address is broadcast or multicast, which TCP rejects (RFC 9293,
// section 3.9.2.3).
func isGroupAddr(i *iface, a netip.Addr) bool {
	if a.Is6() {
		return a.IsMulticast()
	}
	_, broadcast := i.acceptsDst(addrToUint32(a))
	return a.As4()[0] >= 224 || !i.loopback && broadcast
}

// sourceAddr returns the source address for packets over an interface: the one asked for, or chosen
// if none was. An address that the stack does not have there is an error.
func (s *Stack) sourceAddr(asked netip.Addr, i *iface, chosen netip.Addr) (netip.Addr, error) {
	switch asked = s.canonicalAddr(asked); {
	case !asked.IsValid() || asked.IsUnspecified():
		return chosen, nil
	case asked.Is4() != chosen.Is4():
		return asked, syscall.EADDRNOTAVAIL
	case i.loopback && s.owns(asked) || i.hasAddr(asked):
		return asked, nil
	}
	return asked, syscall.EADDRNOTAVAIL
}

// openConn starts a connection. It chooses the parts of the local address that are unspecified.
func (d *Dialer) openConn(remote netip.AddrPort) (*Conn, error) {
	s, local := d.Stack, d.LocalAddr
	i, _, src, ok := s.routeTo(remote.Addr(), s.canonicalAddr(local.Addr()))
	switch {
	case s.closed.Load():
		return nil, net.ErrClosed
	case !ok || isGroupAddr(i, remote.Addr()):
		return nil, syscall.ENETUNREACH
	case remote.Port() == 0:
		return nil, syscall.EADDRNOTAVAIL
	case s.conns.isFull():
		return nil, syscall.ENOBUFS
	}
	src, err := s.sourceAddr(local.Addr(), i, src)
	if err != nil {
		return nil, err
	}
	var c *Conn
	cfg := d.tcpConfig(i, remote.Addr())
	tried := 0
	if local.Port() != 0 {
		tried = triesBeforeReuse
	}
	for range 2 { // the second round may reuse tuples in TIME-WAIT: few others are free
		_, err = choosePort(s.random, local.Port(), func(port uint16) bool {
			tried++
			c = s.openTuple(i, tuple{netip.AddrPortFrom(src, port), remote}, tried > triesBeforeReuse, d.FastOpen, cfg)
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

// triesBeforeReuse is how many ports are tried before one in TIME-WAIT may be reused.
const triesBeforeReuse = 256

// openTuple starts a connection with the tuple k, or returns nil if k is in use. With reuse set, k
// may be in TIME-WAIT.
func (s *Stack) openTuple(i *iface, k tuple, reuse, fastOpen bool, cfg *tcp.Config) *Conn {
	if s.conns.get(k) != nil || i.loopback && s.conns.get(tuple{k.remote, k.local}) != nil {
		return nil
	}
	free, floor := s.timeWaits.claimTuple(k, reuse, i.loopback, s.now())
	if !free {
		return nil
	}
	c := s.newConn(i.readerFor(uint32(k.local.Port())), k)
	c.cfg = cfg
	iss, stamp := s.initialSeq(k)
	c.initState(c.dialState(fastOpen, floor.atLeast(iss), stamp))
	if !s.conns.add(c) {
		return nil
	}
	if c.reader.linkGone.Load() { // it may have closed before the table had c
		c.abortLost(s.now())
	}
	return c
}

// connect sends the SYN and waits until the connection is established or has failed. With Fast
// Open and a cookie of the server, the SYN waits for the first Write instead.
func (c *Conn) connect(ctx context.Context, tos uint8) error {
	c.mu.Lock()
	c.tos = tos &^ ecnMarked
	c.writeWaiter.armLocked()
	c.flushLocked(c.s.now())
	early := c.tcp.AwaitsData()
	c.mu.Unlock()
	if early {
		return nil
	}
	defer context.AfterFunc(ctx, c.writeWaiter.wake)()
	for {
		c.mu.Lock()
		state, failure := c.tcp.State(), c.failureLocked()
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
		<-c.writeWaiter.signal
	}
}

// contextError converts a context's error to that of package net.
func contextError(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return dialTimeoutError{}
	}
	return err
}

// dialTimeoutError is the error of a Dial at its context's deadline. It matches both errors that
// package net's match in such a case.
type dialTimeoutError struct{}

func (dialTimeoutError) Error() string   { return "i/o timeout" }
func (dialTimeoutError) Timeout() bool   { return true }
func (dialTimeoutError) Temporary() bool { return true }
func (dialTimeoutError) Is(target error) bool {
	return target == context.DeadlineExceeded || target == os.ErrDeadlineExceeded
}
