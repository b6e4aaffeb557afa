package dhcp

import (
	"context"
	crypto "crypto/rand"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"weir/tcpip"
	"weir/tcpip/link"
)

// Config configures a Client. The zero value of a field means its default.
type Config struct {
	Stack *tcpip.Stack
	Link  string // name of the link, which must be Ethernet. Default: the first
	// ClientID identifies the host to servers (RFC 2132, section 9.14). Default: the link's
	// hardware address
	ClientID []byte
	HostName string // sent to servers (option 12). Default: none
	// Last is a lease of an earlier run: the client asks for it again (RFC 2131, section 3.2)
	Last *Lease
	// NoProbe has the address used without probing whether another host has it, which takes 4 to
	// 7 s
	NoProbe bool
	Release bool // give the address back at the end of Run; otherwise the server keeps it for Last
	// OnEvent is called when a lease was obtained, renewed or lost. Run waits for it
	OnEvent func(Event)
}

// EventKind is the kind of an Event.
type EventKind uint8

// The kinds of events.
const (
	Obtained EventKind = iota + 1 // the stack has the address of Lease
	Renewed                       // the server has renewed the lease
	Lost                          // the stack does not have the address any more: see Reason
	Failed                        // an offered lease cannot be used: see Err. The client goes on
)

// Event reports a change of the lease.
type Event struct {
	Kind   EventKind
	Lease  Lease
	Reason Reason // of Lost
	Err    error  // of Failed
}

// String describes the event in a line.
func (e Event) String() string {
	switch e.Kind {
	case Obtained:
		return "DHCP: the address is " + e.Lease.String()
	case Renewed:
		return "DHCP: renewed " + e.Lease.String()
	case Failed:
		return fmt.Sprintf("DHCP: cannot use %v: %v", e.Lease.Addr, e.Err)
	}
	return fmt.Sprintf("DHCP: lost %v: %v", e.Lease.Addr, e.Reason)
}

// Client gets an address for a link, and keeps it.
type Client struct {
	cfg  Config
	link tcpip.InterfaceInfo

	// Owned by Run.
	machine machine
	socket  *tcpip.UDPConn
	ctx     context.Context // of Run
	probes  sync.WaitGroup

	inbox   chan []byte   // a reader of the stack -> Run: messages; never closed
	results chan error    // a probe -> Run: its result; capacity 1, never closed
	changes chan struct{} // the stack -> Run: addresses may be lost; capacity 1, never closed
	dropped atomic.Uint64

	mu    sync.Mutex
	stats Stats // of machine; guarded by mu
}

// inboxSize is how many messages wait to be read: more are dropped, as a hostile host may send them
// fast.
const inboxSize = 16

// releaseWait is how long a DHCPRELEASE may wait for the hardware address of the server.
const releaseWait = 200 * time.Millisecond

// New returns a client for a link of a stack. It does nothing before Run.
func New(cfg Config) (*Client, error) {
	i, err := linkOf(cfg.Stack, cfg.Link)
	if err != nil {
		return nil, err
	}
	cfg.Link = i.Name
	mac := i.Caps.MAC
	if len(cfg.ClientID) == 0 {
		cfg.ClientID = append([]byte{1}, mac[:]...)
	}
	if len(cfg.ClientID) < 2 || len(cfg.ClientID) > 255 || len(cfg.HostName) > 255 {
		return nil, errors.New("dhcp: ClientID needs 2 to 255 bytes, and HostName at most 255")
	}
	c := &Client{cfg: cfg, link: i, inbox: make(chan []byte, inboxSize), results: make(chan error, 1), changes: make(chan struct{}, 1)}
	c.machine.cfg = machineConfig{mac: mac, clientID: cfg.ClientID, hostName: cfg.HostName, mtu: i.Caps.MTU, rand: newRand()}
	return c, nil
}

// newRand returns a source of random numbers that others cannot predict.
func newRand() *rand.Rand {
	var seed [32]byte
	crypto.Read(seed[:]) //nolint:errcheck // it never fails
	return rand.New(rand.NewChaCha8(seed))
}

// linkOf returns the link of a stack with that name; "": the first.
func linkOf(s *tcpip.Stack, name string) (i tcpip.InterfaceInfo, err error) {
	all := s.Interfaces()
	at := slices.IndexFunc(all, func(i tcpip.InterfaceInfo) bool { return name == "" || i.Name == name })
	switch {
	case at < 0 || at == len(all)-1: // the loopback
		return i, fmt.Errorf("dhcp: the stack has no link with the name %q", name)
	case all[at].Caps.Medium != link.Ethernet:
		return i, fmt.Errorf("dhcp: the link %s has no hardware addresses: DHCP needs Ethernet", all[at].Name)
	}
	return all[at], nil
}

// Run gets an address and keeps it until ctx ends, and then removes it. If the stack is closed
// first, the error is net.ErrClosed. To give the address back, end ctx, and wait for Run, before
// the stack is closed. Run may be called once.
func (c *Client) Run(ctx context.Context) error {
	var err error
	if c.socket, err = c.cfg.Stack.ListenPacketOn(c.cfg.Link, "udp4", "0.0.0.0:68"); err != nil {
		return fmt.Errorf("dhcp: %w", err)
	}
	defer c.socket.Close()
	c.socket.OnReceive(c.enqueue)
	defer c.cfg.Stack.Watch(c.changed)()
	probing, cancel := context.WithCancel(ctx)
	c.ctx = probing
	c.machine.start(c.cfg.Last, time.Now(), c)
	err = c.loop(ctx)
	cancel()
	c.probes.Wait()
	c.stop()
	return err
}

// errStackClosed is the error of Run after Stack.Close.
var errStackClosed = fmt.Errorf("dhcp: the stack was closed: %w", net.ErrClosed)

// loop feeds the machine until ctx ends, or with an error the stack is closed.
func (c *Client) loop(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		c.publish()
		var due <-chan time.Time // nil: the machine has no deadline
		if at := c.machine.at; !at.IsZero() {
			timer.Reset(time.Until(at))
			due = timer.C
		}
		select {
		case <-ctx.Done():
			return nil
		case <-c.cfg.Stack.Done():
			return errStackClosed
		case b := <-c.inbox:
			c.machine.receive(b, time.Now(), c)
		case err := <-c.results:
			c.probed(err)
		case <-c.changes:
			c.checkAddr()
		case <-due:
			c.machine.tick(time.Now(), c)
		}
	}
}

// stop ends the machine, and removes the address. All probes have ended: the result of the last one
// shows whether it has added the address.
func (c *Client) stop() {
	if c.machine.state == Probing && <-c.results == nil {
		c.forget(c.machine.lease)
	}
	c.machine.stop(c.cfg.Release, c)
	c.publish()
}

// enqueue is called by a reader of the stack.
func (c *Client) enqueue(b []byte, _ netip.AddrPort) {
	select {
	case c.inbox <- slices.Clone(b):
	default:
		c.dropped.Add(1)
	}
}

// changed is called by a reader of the stack.
func (c *Client) changed() {
	select {
	case c.changes <- struct{}{}:
	default:
	}
}

// probed handles the result of a probe.
func (c *Client) probed(err error) {
	_, inUse := errors.AsType[*tcpip.ConflictError](err)
	if err != nil {
		c.event(Event{Kind: Failed, Lease: c.machine.lease, Err: err})
	}
	c.machine.probed(inUse, err, time.Now(), c)
}

// checkAddr finds out if the stack has lost the address to another host.
func (c *Client) checkAddr() {
	if c.machine.state.hasLease() && !slices.Contains(c.cfg.Stack.Addrs(), c.machine.lease.Addr) {
		c.machine.addrLost(time.Now(), c)
	}
}

// send implements actions. A message that cannot be sent is sent again, as one that was lost.
func (c *Client) send(m *dhcpv4.DHCPv4, to netip.Addr) {
	_, err := c.socket.WriteTo(m.ToBytes(), &net.UDPAddr{IP: to.AsSlice(), Port: 67})
	if err == nil && m.MessageType() == dhcpv4.MessageTypeRelease {
		time.Sleep(releaseWait) // the address is needed to ask for the server's hardware address
	}
}

// probe implements actions.
func (c *Client) probe(l Lease) {
	if c.cfg.NoProbe {
		c.results <- c.cfg.Stack.AddAddrOn(c.cfg.Link, l.Addr)
		return
	}
	c.probes.Go(func() { // until the probe has a result, or Run ends
		c.results <- c.cfg.Stack.ClaimAddr(c.ctx, c.cfg.Link, l.Addr)
	})
}

// use implements actions.
func (c *Client) use(l Lease, renewed bool) {
	s := c.cfg.Stack
	if err := s.SetLearned(c.cfg.Link, "dhcp", tcpip.Learned{Routes: l.Routes, Servers: l.DNS}); err != nil {
		c.event(Event{Kind: Failed, Lease: l, Err: err})
	}
	mtu := c.link.Caps.MTU
	if l.MTU != 0 {
		mtu = min(mtu, l.MTU)
	}
	s.SetMTU(c.cfg.Link, mtu) //nolint:errcheck // an MTU too small for IPv6 is not used
	kind := Obtained
	if renewed {
		kind = Renewed
	}
	c.event(Event{Kind: kind, Lease: l})
}

// lose implements actions.
func (c *Client) lose(l Lease, why Reason) {
	c.forget(l)
	c.event(Event{Kind: Lost, Lease: l, Reason: why})
}

// forget removes what the stack has of a lease.
func (c *Client) forget(l Lease) {
	s := c.cfg.Stack
	s.RemoveAddr(l.Addr.Addr())                       //nolint:errcheck // the stack may be closed
	s.SetLearned(c.cfg.Link, "dhcp", tcpip.Learned{}) //nolint:errcheck // the stack may be closed
	s.SetMTU(c.cfg.Link, c.link.Caps.MTU)             //nolint:errcheck // the stack may be closed
}

// event reports an event.
func (c *Client) event(e Event) {
	c.publish() // OnEvent may call Stats
	if c.cfg.OnEvent != nil {
		c.cfg.OnEvent(e)
	}
}

// publish copies the counters for Stats.
func (c *Client) publish() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stats = c.machine.stats
	c.stats.State = c.machine.state
}

// Stats returns the state and the counters. Any goroutine may call it.
func (c *Client) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	s.Dropped = c.dropped.Load()
	return s
}
