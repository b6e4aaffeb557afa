//go:build !linux

package nat

import (
	"net"
	"net/netip"

	"weir/tcpip"
)

// sockets is for Linux: elsewhere goroutines pass on what comes.
type sockets struct{}

func (n *NAT) startSockets() error { return nil }

func (n *NAT) forwarder() tcpip.Forwarder { return n.goroutineForwarder() }

func (n *NAT) closeSockets() {}

func (n *NAT) relayIn(*tcpip.Conn, net.Conn, netip.Addr) bool { return false }
