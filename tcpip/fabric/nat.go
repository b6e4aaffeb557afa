package fabric

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"weir/wire"
)

// NATConfig configures a NAT. The zero value of a field means its default.
type NATConfig struct {
	// how long a mapping without packets is kept (RFC 5382, section 5, and RFC 4787, section 4.3).
	// Default 2 h 4 min for TCP, 2 min for UDP and ICMP
	TCPTimeout, UDPTimeout time.Duration
	// packets from outside pass if any host has been sent to by the mapping, not only from where it
	// has sent to (endpoint-independent filtering, RFC 4787, section 5)
	OpenFilter bool
}

func (c NATConfig) withDefaults() NATConfig {
	if c.TCPTimeout == 0 {
		c.TCPTimeout = 2*time.Hour + 4*time.Minute
	}
	if c.UDPTimeout == 0 {
		c.UDPTimeout = 2 * time.Minute
	}
	return c
}

// endpoint is an address and port of a protocol. The port of ICMP is the identifier of an echo.
type endpoint struct {
	protocol wire.Protocol
	netip.AddrPort
}

// outsidePort is a port of the NAT's outer address.
type outsidePort struct {
	protocol wire.Protocol
	port     uint16
}

// mapping is the outside port of an inside endpoint: the same for all its peers (RFC 4787, REQ-1).
type mapping struct {
	inside    endpoint
	port      uint16
	published bool                        // it never expires, and lets every packet pass
	lastUsed  time.Time                   // by a packet from inside
	peers     map[netip.AddrPort]struct{} // where the endpoint has sent to
}

// translator has the mappings of a NAT. The network's lock guards it.
type translator struct {
	cfg                     NATConfig
	outsideAddr, insideAddr netip.Addr
	byInside                map[endpoint]*mapping
	byPort                  map[outsidePort]*mapping
	lastPort                uint16
}

func newTranslator(c NATConfig, outside, inside netip.Addr) *translator {
	t := &translator{cfg: c, outsideAddr: outside, insideAddr: inside}
	t.forget()
	return t
}

func (t *translator) forget() {
	t.byInside, t.byPort = map[endpoint]*mapping{}, map[outsidePort]*mapping{}
}

// Forget removes all mappings, as a NAT does that restarts: connections through it hang.
func (n *Node) Forget() {
	n.net.mu.Lock()
	defer n.net.mu.Unlock()
	if n.nat == nil {
		return
	}
	old := n.nat.byPort
	n.nat.forget()
	for at, m := range old {
		if m.published {
			n.nat.byPort[at], n.nat.byInside[m.inside] = m, m
		}
	}
}

// Publish forwards a TCP and UDP port of the NAT's outer address to a port of a host behind it. The
// error is a port that is in use, or one of the host that is published already.
func (n *Node) Publish(port uint16, to *Node, toPort uint16) error {
	n.net.mu.Lock()
	defer n.net.mu.Unlock()
	if n.nat == nil || to == nil || to.realm != n.inside || len(to.addrs) == 0 {
		return errors.New("fabric: only a NAT publishes ports, of hosts behind it")
	}
	if port == 0 || toPort == 0 {
		return errors.New("fabric: port 0 cannot be published: choose 1 to 65,535")
	}
	inside := netip.AddrPortFrom(to.addrs[0].Addr(), toPort)
	protocols := [...]wire.Protocol{wire.TCPProtocol, wire.UDPProtocol}
	for _, p := range protocols {
		if n.nat.byPort[outsidePort{p, port}] != nil {
			return fmt.Errorf("fabric: port %d of the NAT is in use: publish it before its hosts send", port)
		}
		if m := n.nat.byInside[endpoint{p, inside}]; m != nil {
			return fmt.Errorf("fabric: %v is mapped to port %d of the NAT: publish it once, before the host sends", inside, m.port)
		}
	}
	for _, p := range protocols {
		m := &mapping{inside: endpoint{p, inside}, port: port, published: true}
		n.nat.byPort[outsidePort{p, port}], n.nat.byInside[m.inside] = m, m
	}
	return nil
}

// translate handles a packet that has reached a NAT.
func (n *Network) translate(at time.Time, node *Node, p *packet) {
	src, dst, ok := addrsOf(p.bytes)
	if !ok || !dst.Is4() || isGroup(dst, node.realm) || isGroup(dst, node.inside) {
		n.drop(at, node, p, DropMalformed)
		return
	}
	fromInside := p.prev != nil && p.prev.realm == node.inside
	if owner := node.inside.owners[dst]; fromInside && owner != nil && owner != node {
		n.forward(at, node, p) // its inner links are in one network
		return
	}
	if wire.IPv4(p.bytes).IsFragment() {
		n.drop(at, node, p, DropMalformed)
		return
	}
	if node.answersPing(at, p, fromInside, dst) || !node.decrement(at, p) {
		return
	}
	why, ok := DropNoRoute, false
	switch {
	case fromInside && dst != node.nat.outsideAddr && node.inside.owners[dst] == nil:
		ok, why = node.nat.outward(at, p.bytes), DropMalformed
	case fromInside && dst == node.nat.outsideAddr: // hairpinning (RFC 4787, REQ-9)
		ok, why = node.nat.outward(at, p.bytes) && node.nat.inward(at, p.bytes, dst), DropFiltered
	case !fromInside && dst == node.nat.outsideAddr:
		ok, why = node.nat.inward(at, p.bytes, src), DropFiltered
	}
	if !ok {
		n.drop(at, node, p, why)
		return
	}
	n.forward(at, node, p)
}

// answersPing answers an echo request to an address of the NAT, from inside to both, and reports
// whether the packet was one.
func (n *Node) answersPing(at time.Time, p *packet, fromInside bool, dst netip.Addr) bool {
	if dst != n.nat.outsideAddr && !(fromInside && dst == n.nat.insideAddr) {
		return false
	}
	reply := echoReply(p.bytes)
	if reply == nil {
		return false
	}
	n.reply(at, p, reply)
	return true
}

// timeout returns how long an unused mapping of a protocol is kept.
func (t *translator) timeout(p wire.Protocol) time.Duration {
	if p == wire.TCPProtocol {
		return t.cfg.TCPTimeout
	}
	return t.cfg.UDPTimeout
}

// live returns the mapping m if it has not expired; otherwise it removes it.
func (t *translator) live(m *mapping, at time.Time) *mapping {
	if m == nil || m.published || at.Sub(m.lastUsed) <= t.timeout(m.inside.protocol) {
		return m
	}
	delete(t.byInside, m.inside)
	delete(t.byPort, outsidePort{m.inside.protocol, m.port})
	return nil
}

// mapFor returns the mapping of an inside endpoint, a new one if there is none; nil: all ports are
// in use.
func (t *translator) mapFor(from endpoint, at time.Time) *mapping {
	if m := t.live(t.byInside[from], at); m != nil {
		return m
	}
	port := from.Port() // preserved if possible (RFC 4787, section 4.2.1)
	for range 1 << 16 {
		key := outsidePort{from.protocol, port}
		if port != 0 && t.live(t.byPort[key], at) == nil {
			m := &mapping{inside: from, port: port, peers: map[netip.AddrPort]struct{}{}}
			t.byInside[from], t.byPort[key] = m, m
			return m
		}
		t.lastPort = max(t.lastPort+1, 1024)
		port = t.lastPort
	}
	return nil
}
