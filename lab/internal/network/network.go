// Package network creates the networks of the lab's trials, in new network namespaces. No state of
// a trial remains for the next, and no traffic leaves the machine.
//
// # Limitations
//
// Linux only, as root.
package network

import "net/netip"

// Network is the network between the subject and its peer. The caller that created it must close
// it.
type Network struct {
	Subject string       // namespace of the subject's process, a name under /run/netns
	Peer    string       // namespace of the peer; with a TAP device the same as Subject
	Tap     string       // TAP device of a stack in user space; empty: none
	Addr    netip.Prefix // address of the subject

	removeAll func() error
}

// The addresses. Those of a cable are in the range for benchmarks (198.18.0.0/15, RFC 2544).
var (
	cableSubject = netip.MustParsePrefix("198.18.0.2/30")
	cablePeer    = netip.MustParsePrefix("198.18.0.1/30")
	tapSubject   = netip.MustParsePrefix("10.77.0.2/24")
	tapPeer      = netip.MustParsePrefix("10.77.0.1/24")
)

// tapName is the name of the TAP device. It is the only one in its namespace.
const tapName = "weir0"

// Host returns the subject's address.
func (n *Network) Host() string { return n.Addr.Addr().String() }

// Namespaces returns the names of the network's namespaces, each once.
func (n *Network) Namespaces() []string {
	if n.Peer == n.Subject {
		return []string{n.Subject}
	}
	return []string{n.Subject, n.Peer}
}

// Close removes the namespaces and their devices.
func (n *Network) Close() error { return n.removeAll() }
