// Package network creates the networks of the lab's trials, in new network namespaces. No state of
// a trial remains for the next, and no traffic leaves the machine.
//
// # Limitations
//
// Linux only, as root.
package network

import (
	"fmt"
	"net/netip"
)

// Network is the network between the subject and its peer. The caller that created it must close
// it.
type Network struct {
	Subject string       // namespace of the subject's process, a name under /run/netns
	Peer    string       // namespace of the peer; with a TAP device the same as Subject
	Tap     string       // TAP device of a stack in user space; empty: none
	Addr    netip.Prefix // address of the subject

	removeAll func() error
}

// addresses are those of the two ends of a network.
type addresses struct{ subject, peer netip.Prefix }

// The addresses. Those of a cable are in the ranges for benchmarks (198.18.0.0/15, RFC 2544, and
// 2001:2::/48, RFC 5180).
var (
	cableAddrs  = addresses{netip.MustParsePrefix("198.18.0.2/30"), netip.MustParsePrefix("198.18.0.1/30")}
	cable6Addrs = addresses{netip.MustParsePrefix("2001:2::2/64"), netip.MustParsePrefix("2001:2::1/64")}
	tapAddrs    = addresses{netip.MustParsePrefix("10.77.0.2/24"), netip.MustParsePrefix("10.77.0.1/24")}
	tap6Addrs   = addresses{netip.MustParsePrefix("fd00:77::2/64"), netip.MustParsePrefix("fd00:77::1/64")}
)

// tapName is the name of the TAP device. It is the only one in its namespace.
const tapName = "weir0"

// New creates the network of a kind for the workload of TCP/IP stacks: "tap" or "veth", or with
// IPv6 "tap6" or "veth6".
func New(kind, name string) (*Network, error) {
	switch kind {
	case "tap":
		return Tap(name)
	case "tap6":
		return tap(name, tap6Addrs)
	case "veth":
		return Cable(name)
	case "veth6":
		return cable(name, cable6Addrs)
	}
	return nil, fmt.Errorf("network: there is no kind %q of network: use tap, tap6, veth or veth6", kind)
}

// Cable creates the namespaces name+"s" and name+"l", connected by a veth pair. Both endpoints are
// stacks of the kernel. On an error nothing remains.
func Cable(name string) (*Network, error) { return cable(name, cableAddrs) }

// Tap creates the namespace name with a TAP device. The kernel's side of the device has an address;
// the other side is for a stack in user space. On an error nothing remains.
func Tap(name string) (*Network, error) { return tap(name, tapAddrs) }

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
