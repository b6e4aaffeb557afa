package fabric

import (
	"errors"
	"fmt"
	"net/netip"

	"weir/tcpip/ip"
)

// nodeKind is a kind of node.
type nodeKind uint8

const (
	hostNode   nodeKind = iota // sends and receives
	switchNode                 // forwards, and copies broadcasts and multicasts to all its links
	routerNode                 // forwards, decrements the TTL, sends ICMP errors
	natNode                    // translates addresses between the nodes behind it and the others
)

// Node is a host, a switch, a router or a NAT.
type Node struct {
	net    *Network
	name   string
	index  int // number of the node in the network
	kind   nodeKind
	realm  *realm
	inside *realm // of a NAT: what is behind it
	addrs  []netip.Prefix
	mtu    int // of a host's interface

	// guarded by net.mu
	lines  []*line         // to the node's neighbours
	routes map[*Node]*line // by the target; nil until a packet needs them
	nic    *nic            // of a host that is attached
	paused bool
	held   []heldPacket // of a paused host
	nat    *translator  // of a NAT
	drops  [dropCount]uint64
}

// maxHeld is how many packets wait for a paused host, in each direction together: as many as the
// queue of a network card and of its driver.
const maxHeld = 1024

// heldPacket is a packet to or from a paused host.
type heldPacket struct {
	arrived *packet        // to the host, or
	written *writtenPacket // from it
}

// defaultMTU is the default of HostConfig.MTU.
const defaultMTU = 1500

// HostConfig configures a host. The zero value of a field means its default.
type HostConfig struct {
	// Addrs are the host's addresses with their prefix lengths. Default: the next free ones of
	// 10.0.0.0/8 and fd00::/64, or of 192.168.N.0/24 behind a NAT
	Addrs []netip.Prefix
	MTU   int // of its interface, in bytes. Default 1,500
}

// Host adds a host. The error is a name that is taken.
func (n *Network) Host(name string) (*Node, error) { return n.HostWith(name, HostConfig{}) }

// HostWith adds a host. The error is a name or an address that is taken.
func (n *Network) HostWith(name string, c HostConfig) (*Node, error) {
	return n.add(name, hostNode, n.public, c)
}

// Switch adds a switch: hosts that are connected to it are in one network.
func (n *Network) Switch(name string) (*Node, error) {
	return n.add(name, switchNode, n.public, HostConfig{})
}

// Router adds a router.
func (n *Network) Router(name string) (*Node, error) {
	return n.add(name, routerNode, n.public, HostConfig{})
}

// NAT adds a NAT. Nodes that its methods add are behind it.
func (n *Network) NAT(name string, c NATConfig) (*Node, error) { return n.addNAT(name, n.public, c) }

func (n *Network) addNAT(name string, outside *realm, c NATConfig) (*Node, error) {
	if c.TCPTimeout < 0 || c.UDPTimeout < 0 {
		return nil, fmt.Errorf("fabric: the NAT %s has timeouts of %v and %v: make both positive, or 0 for the default", name, c.TCPTimeout, c.UDPTimeout)
	}
	node, err := n.add(name, natNode, outside, HostConfig{})
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	node.inside = newPrivateRealm(node, n.realms)
	n.realms++
	addrs, err := node.inside.next()
	if err != nil {
		return nil, err
	}
	node.nat = newTranslator(c.withDefaults(), node.addrs[0].Addr(), addrs[0].Addr())
	return node, node.inside.add(node, addrs)
}

// HostWith adds a host behind a NAT.
func (n *Node) HostWith(name string, c HostConfig) (*Node, error) { return n.behind(name, hostNode, c) }

// Switch adds a switch behind a NAT.
func (n *Node) Switch(name string) (*Node, error) { return n.behind(name, switchNode, HostConfig{}) }

// Router adds a router behind a NAT.
func (n *Node) Router(name string) (*Node, error) { return n.behind(name, routerNode, HostConfig{}) }

// NAT adds a NAT behind a NAT.
func (n *Node) NAT(name string, c NATConfig) (*Node, error) {
	if n.inside == nil {
		return nil, notBehind(name, n)
	}
	return n.net.addNAT(name, n.inside, c)
}

func notBehind(name string, n *Node) error {
	return fmt.Errorf("fabric: %s cannot be behind %s, which is no NAT: add it to the network", name, n.name)
}

func (n *Node) behind(name string, k nodeKind, c HostConfig) (*Node, error) {
	if n.inside == nil {
		return nil, notBehind(name, n)
	}
	return n.net.add(name, k, n.inside, c)
}

func (n *Network) add(name string, k nodeKind, r *realm, c HostConfig) (*Node, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if name == "" || n.byName[name] != nil {
		return nil, fmt.Errorf("fabric: the name %q is empty or taken: give each node a name of its own", name)
	}
	if c.MTU == 0 {
		c.MTU = defaultMTU
	}
	if c.MTU < minMTU || c.MTU > 65535 {
		return nil, fmt.Errorf("fabric: the host %q has an MTU of %d: make it %d to 65,535 bytes, or 0 for %d", name, c.MTU, minMTU, defaultMTU)
	}
	node := &Node{net: n, name: name, index: len(n.nodes), kind: k, realm: r, addrs: c.Addrs, mtu: c.MTU}
	if len(c.Addrs) == 0 && k != switchNode {
		var err error
		if node.addrs, err = r.next(); err != nil {
			return nil, err
		}
	}
	if err := r.add(node, node.addrs); err != nil {
		return nil, err
	}
	n.nodes, n.byName[name] = append(n.nodes, node), node
	return node, nil
}

// Name returns the node's name.
func (n *Node) Name() string { return n.name }

// Prefixes returns the node's addresses with their prefix lengths; of a NAT the outer ones. A
// switch has none.
func (n *Node) Prefixes() []netip.Prefix { return n.addrs }

// Routes returns the routes of a host's stack: everything is reached by its only interface.
func (n *Node) Routes() (all []ip.Route) {
	for _, p := range n.addrs {
		any4, any6 := netip.PrefixFrom(netip.IPv4Unspecified(), 0), netip.PrefixFrom(netip.IPv6Unspecified(), 0)
		if p.Addr().Is4() {
			all = append(all, ip.Route{To: any4})
		} else {
			all = append(all, ip.Route{To: any6})
		}
	}
	return all
}

// Linked reports whether a link joins the node to another one.
func (n *Node) Linked() bool {
	n.net.mu.Lock()
	defer n.net.mu.Unlock()
	return len(n.lines) > 0
}

// Link joins two nodes.
type Link struct {
	net  *Network
	ends [2]*line // from the first node to the second, and back
}

// Connect joins two nodes by a link, with a path for each direction. Both must be in the same
// network: public, or behind the same NAT, which is itself in both.
func (n *Network) Connect(a, b *Node, there, back Path) (*Link, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if a == nil || b == nil || a == b || a.net != n || b.net != n {
		return nil, errors.New("fabric: a link needs two different nodes of the network")
	}
	if a.realm != b.realm && a.inside != b.realm && b.inside != a.realm {
		return nil, fmt.Errorf("fabric: a NAT is between %s and %s: connect the nodes behind it to the NAT", a.name, b.name)
	}
	l := &Link{net: n}
	stream := uint64(4 * len(n.links))
	var err error
	if l.ends[0], err = newLine(l, a, b, there, n.cfg.Seed, stream); err != nil {
		return nil, err
	}
	if l.ends[1], err = newLine(l, b, a, back, n.cfg.Seed, stream+2); err != nil {
		return nil, err
	}
	a.lines, b.lines = append(a.lines, l.ends[0]), append(b.lines, l.ends[1])
	n.links = append(n.links, l)
	n.forgetRoutesLocked()
	return l, nil
}

// Ends returns the nodes of the link, in the order of Connect.
func (l *Link) Ends() (a, b *Node) { return l.ends[0].from, l.ends[0].to }

// Set changes the paths of the link. Packets in flight arrive when they would have arrived. With
// another Rate, later packets do not wait for them, and may overtake them. After an error nothing
// has changed.
func (l *Link) Set(there, back Path) error {
	l.net.mu.Lock()
	defer l.net.mu.Unlock()
	before := l.ends[0].path
	if err := l.ends[0].set(there); err != nil {
		return err
	}
	if err := l.ends[1].set(back); err != nil {
		l.ends[0].set(before) //nolint:errcheck // it was valid
		return err
	}
	return nil
}

// Paths returns the paths of the link.
func (l *Link) Paths() (there, back Path) {
	l.net.mu.Lock()
	defer l.net.mu.Unlock()
	return l.ends[0].path, l.ends[1].path
}
