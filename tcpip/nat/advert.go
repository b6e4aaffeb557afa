package nat

import (
	"errors"
	"net"
	"net/netip"
	"time"

	"weir/tcpip"
	"weir/wire"
)

const (
	advertInterval = 200 * time.Second // RFC 4861, section 6.2.1
	advertLifetime = 30 * time.Minute
	// minAdvertDelay is the least time between two advertisements. RFC 4861, section 10, has 3 s
	// for those to all nodes: a host that has just come up would wait for that long
	minAdvertDelay = 200 * time.Millisecond
	ndHopLimit     = 255
)

// allNodes is the group of all hosts on the link.
var allNodes = &net.IPAddr{IP: net.ParseIP("ff02::1")}

// advertise announces the IPv6 network, if there is one: at once, after solicitations, and from
// time to time.
func (n *NAT) advertise() error {
	g := n.config.gateway(false)
	if !g.IsValid() {
		return nil
	}
	c, err := n.stack.ListenIP(wire.ICMPv6Protocol)
	if err != nil {
		return err
	}
	c.SetTTL(ndHopLimit)
	message := n.advert(g)
	// hearSolicitations -> announce; never closed
	asked := make(chan struct{}, 1)
	n.tasks.Go(func() { hearSolicitations(c, asked) })   // until the stack is closed
	n.tasks.Go(func() { n.announce(c, message, asked) }) // until Close
	return nil
}

// advert returns the advertisement of the network.
func (n *NAT) advert(g netip.Prefix) []byte {
	a := wire.Advert{HopLimit: 64, Lifetime: advertLifetime}
	a.Options = wire.AppendPrefix(nil, &wire.Prefix{Prefix: g.Masked(), OnLink: true, Autonomous: g.Bits() == 64, Valid: 24 * time.Hour, Preferred: 4 * time.Hour})
	a.Options = wire.AppendMTU(a.Options, n.config.Link.Caps().MTU)
	if n.config.servesDNS() {
		a.Options = wire.AppendServers(a.Options, &wire.Servers{Lifetime: advertLifetime, Addrs: []netip.Addr{g.Addr()}})
	}
	if mac := n.config.Link.Caps().MAC; mac != (wire.MAC{}) {
		a.Options = wire.AppendLinkAddr(a.Options, wire.SourceLinkAddr, mac)
	}
	// the stack completes the checksum
	return wire.AppendAdvert(nil, netip.IPv6Unspecified(), netip.IPv6Unspecified(), &a)
}

// hearSolicitations signals router solicitations.
func hearSolicitations(c *tcpip.PacketConn, asked chan<- struct{}) {
	var b [64]byte
	for {
		size, _, err := c.ReadFrom(b[:])
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if m, fault := wire.ParseICMPv6(b[:size]); err == nil && fault == wire.OK && m.Type() == wire.RouterSolicit {
			select {
			case asked <- struct{}{}:
			default: // an answer is due already
			}
		}
	}
}

// announce sends advertisements until Close.
func (n *NAT) announce(c *tcpip.PacketConn, message []byte, asked <-chan struct{}) {
	for {
		c.WriteTo(message, allNodes) //nolint:errcheck // hosts ask again
		select {
		case <-n.ctx.Done():
			return
		case <-time.After(minAdvertDelay):
		}
		select {
		case <-n.ctx.Done():
			return
		case <-asked:
		case <-time.After(advertInterval):
		}
	}
}
