package nat

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"weir/tcpip"
)

// NAT is a user-mode network.
type NAT struct {
	config Config
	stack  *tcpip.Stack
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	tasks  sync.WaitGroup // all goroutines; until Close

	ownDial bool // connections onward are made by a function of the caller's
	sockets

	leases   leases
	warnedAt time.Time // of the last warning; used by serveDHCP

	mu    sync.Mutex // guards what follows
	flows flowCounts
	onEnd map[closer]bool // what Close closes
	ended bool
}

// Config returns the configuration, with its defaults filled in. Its slices must not be changed.
func (n *NAT) Config() Config { return n.config }

// closer is what Close closes: connections, sockets and listeners. It is a pointer.
type closer interface{ Close() error }

// New starts a user-mode network on a link. The caller closes it.
func New(c Config) (*NAT, error) {
	if c.Link == nil {
		return nil, errors.New("nat: there is no link: give it one")
	}
	ownDial := c.Dial != nil
	c, err := c.withDefaults()
	if err != nil {
		return nil, errors.Join(err, c.Link.Close())
	}
	c.Stack.Link, c.Stack.Addrs = c.Link, c.Gateway
	s, err := tcpip.New(c.Stack)
	if err != nil {
		return nil, errors.Join(err, c.Link.Close())
	}
	n := &NAT{config: c, stack: s, ownDial: ownDial, flows: flowCounts{limit: c.Flows, of: map[netip.Addr]int{}}, onEnd: map[closer]bool{}}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	if err := n.startSockets(); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	s.Forward(n.forwarder())
	for _, start := range []func() error{n.serveDNS, n.serveDHCP, n.advertise, n.publish} {
		if err := start(); err != nil {
			return nil, errors.Join(err, n.Close())
		}
	}
	return n, nil
}

// Stack returns the gateway's stack.
func (n *NAT) Stack() *tcpip.Stack { return n.stack }

// Close ends all connections and closes the link.
func (n *NAT) Close() error {
	n.cancel()
	n.mu.Lock()
	n.ended = true
	all := n.onEnd
	n.onEnd = nil
	n.mu.Unlock()
	for c := range all {
		c.Close() //nolint:errcheck // it is
	}
	err := n.stack.Close()
	n.tasks.Wait()
	n.closeSockets()
	return err
}

// goroutineForwarder returns functions that start a goroutine for each connection and flow.
func (n *NAT) goroutineForwarder() tcpip.Forwarder {
	return tcpip.Forwarder{TCP: n.forwardTCP, UDP: n.forwardUDP, Echo: n.forwardEcho}
}

// request is what comes from a host: an attempt to connect, or the first datagram of a flow.
type request interface {
	From() netip.AddrPort
	To() netip.AddrPort
	Reject(error)
	Drop()
}

// forward passes a request on: relay has the connection onward, in a goroutine of its own, until it
// returns.
func (n *NAT) forward(network string, r request, relay func(far net.Conn)) {
	host := r.From().Addr()
	if !n.begin(host) {
		r.Drop()
		return
	}
	n.tasks.Go(func() { // until the connection or flow ends, or Close
		defer n.end(host)
		far, err := n.dial(network, r.To())
		switch {
		case err != nil:
			r.Reject(err)
		case !n.keep(far):
			r.Drop()
		default:
			defer n.close(far)
			relay(far)
		}
	})
}

// keep has Close close c. It reports whether Close is still to come; otherwise it closes c itself.
func (n *NAT) keep(c closer) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ended {
		c.Close() //nolint:errcheck // it is
		return false
	}
	n.onEnd[c] = true
	return true
}

// close closes c before Close does.
func (n *NAT) close(c closer) {
	n.forget(c)
	c.Close() //nolint:errcheck // it is
}

// forget leaves c to another owner.
func (n *NAT) forget(c closer) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.onEnd, c)
}

// dial connects onward, or says why not.
func (n *NAT) dial(network string, to netip.AddrPort) (net.Conn, error) {
	to, ok := n.config.onward(to)
	if !ok {
		return nil, fmt.Errorf("nat: %v is denied: %w", to.Addr(), syscall.EACCES)
	}
	ctx, cancel := context.WithTimeout(n.ctx, dialTimeout)
	defer cancel()
	c, err := n.config.Dial(ctx, network, to)
	if err != nil || network != "udp" {
		return c, err
	}
	if err := refuseBroadcast(c); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}
