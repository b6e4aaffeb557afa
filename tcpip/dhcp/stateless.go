package dhcp

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"weir/tcpip"
)

// StatelessConfig configures a Stateless. The zero value of a field means its default.
type StatelessConfig struct {
	Stack *tcpip.Stack // with Autoconf on the link
	Link  string       // name of the link, which must be Ethernet. Default: the first
	// OnInfo is called when a server has answered. Run waits for it
	OnInfo func(Info)
}

// Stateless gets name servers by stateless DHCPv6 (RFC 8415, section 6.1), while the routers on the
// link ask for it by the O flag of their advertisements.
type Stateless struct {
	cfg     StatelessConfig
	machine infoMachine // owned by Run

	inbox   chan []byte   // a reader of the stack -> Run: messages; never closed
	changes chan struct{} // the stack -> Run: the flags may have changed; capacity 1, never closed
}

// NewStateless returns a client for a link of a stack. It does nothing before Run.
func NewStateless(cfg StatelessConfig) (*Stateless, error) {
	i, err := linkOf(cfg.Stack, cfg.Link)
	if err != nil {
		return nil, err
	}
	cfg.Link = i.Name
	c := &Stateless{cfg: cfg, inbox: make(chan []byte, inboxSize), changes: make(chan struct{}, 1)}
	c.machine = infoMachine{mac: i.Caps.MAC, rand: newRand()}
	return c, nil
}

// servers is the group of all servers and relays on the link (RFC 8415, section 7.1).
var servers = net.ParseIP("ff02::1:2")

// Run asks when a router wants it, and again when the answer is old, until ctx ends. If the
// stack is closed first, the error is net.ErrClosed. It may be called once.
func (c *Stateless) Run(ctx context.Context) error {
	socket, err := c.cfg.Stack.ListenPacketOn(c.cfg.Link, "udp6", "[::]:546")
	if err != nil {
		return fmt.Errorf("dhcp: %w", err)
	}
	defer socket.Close()
	socket.OnReceive(c.enqueue)
	defer c.cfg.Stack.Watch(c.changed)()
	defer c.learn(Info{})
	c.changed()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
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
			c.receive(b)
		case <-c.changes:
			c.checkFlags()
		case <-due:
			if m := c.machine.tick(time.Now()); m != nil {
				to := &net.UDPAddr{IP: servers, Port: 547, Zone: c.cfg.Link}
				socket.WriteTo(m.ToBytes(), to) //nolint:errcheck // it is sent again
			}
		}
	}
}

// enqueue is called by a reader of the stack.
func (c *Stateless) enqueue(b []byte, _ netip.AddrPort) {
	select {
	case c.inbox <- slices.Clone(b):
	default:
	}
}

// changed is called by a reader of the stack.
func (c *Stateless) changed() {
	select {
	case c.changes <- struct{}{}:
	default:
	}
}

// checkFlags starts or stops asking.
func (c *Stateless) checkFlags() {
	_, other := c.cfg.Stack.RouterFlags(c.cfg.Link)
	if c.machine.setWanted(other, time.Now()) {
		c.learn(Info{})
	}
}

// receive handles a message.
func (c *Stateless) receive(b []byte) {
	i, ok := c.machine.receive(b, time.Now())
	if !ok {
		return
	}
	c.learn(i)
	if c.cfg.OnInfo != nil {
		c.cfg.OnInfo(i)
	}
}

// learn gives the stack the name servers.
func (c *Stateless) learn(i Info) {
	c.cfg.Stack.SetLearned(c.cfg.Link, "dhcp6", tcpip.Learned{Servers: i.DNS}) //nolint:errcheck // the stack may be closed
}
