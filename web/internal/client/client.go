// Package client identifies clients: which addresses count as one client, and where a request came
// from when a trusted proxy, such as a load balancer, has forwarded it.
//
// # Limitations
//
// All users behind one address translator (NAT) are one client. A proxy is trusted by its address
// alone.
package client

import "net/netip"

// Network returns the network that counts as one client, for an address with or without a port: the
// address itself for IPv4, its /64 for IPv6, which is what one customer gets. For something else,
// such as the address of a Unix socket, it returns the zero prefix.
func Network(address string) netip.Prefix {
	a, ok := Parse(address)
	if !ok {
		return netip.Prefix{}
	}
	bits := 32
	if a.Is6() {
		bits = 64
	}
	p, _ := a.Prefix(bits)
	return p
}

// Limited returns the client against whose share of a limited resource an address counts: its
// [Network]. The zero prefix means that no share applies: to loopback addresses, and to something
// else than an IP address, such as the address of a Unix socket.
func Limited(address string) netip.Prefix {
	if a, ok := Parse(address); !ok || a.IsLoopback() {
		return netip.Prefix{}
	}
	return Network(address)
}

// Parse parses ADDRESS or ADDRESS:PORT. It returns an IPv4-mapped IPv6 address as IPv4.
func Parse(address string) (a netip.Addr, ok bool) {
	if at, err := netip.ParseAddrPort(address); err == nil {
		a = at.Addr()
	} else if a, err = netip.ParseAddr(address); err != nil {
		return a, false
	}
	return a.Unmap().WithZone(""), true
}
