// Package network makes the networks that the lab's trials stand in: network namespaces of their
// own, so that nothing of one trial is left for the next, and no traffic leaves the machine.
//
// # Limitations
//
// Linux, and root.
package network

import "net/netip"

// Network is where the two ends of a trial stand. Its maker closes it.
type Network struct {
	Subject string       // namespace, a name under /run/netns, in which the subject's process runs
	Peer    string       // namespace of the peer; the same with a TAP device
	Tap     string       // the device of a stack in user space; empty: there is none
	Addr    netip.Prefix // the subject's

	undo func() error
}

// The addresses. Those of a cable are from the range that RFC 2544 sets aside for measuring
// networks (198.18.0.0/15).
var (
	cableSubject = netip.MustParsePrefix("198.18.0.2/30")
	cablePeer    = netip.MustParsePrefix("198.18.0.1/30")
	tapSubject   = netip.MustParsePrefix("10.77.0.2/24")
	tapPeer      = netip.MustParsePrefix("10.77.0.1/24")
)

// tapName is the device's. It is alone in its namespace.
const tapName = "weir0"

// Host is the subject's address.
func (n *Network) Host() string { return n.Addr.Addr().String() }

// Namespaces are those of the network, each once.
func (n *Network) Namespaces() []string {
	if n.Peer == n.Subject {
		return []string{n.Subject}
	}
	return []string{n.Subject, n.Peer}
}

// Close takes everything away.
func (n *Network) Close() error { return n.undo() }
