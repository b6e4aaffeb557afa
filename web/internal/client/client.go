// Package client identifies clients: which addresses count as one client, and where a request came
// from when a front, such as a load balancer, has passed it on.
//
// # Limitations
//
// People behind one address translator are one client. A front is believed by its address alone.
package client

import "net/netip"

// Network is what counts as one client of an address, with a port or without: the address itself,
// or the first 64 bits of one of version 6, which is what a customer has. What is no address, such
// as a Unix socket's, gives the zero prefix.
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

// Limited is the client against whose share of something scarce an address counts: its [Network].
// The zero prefix means that it has no share and may take all: an address of loopback, and what is
// no address, such as a Unix socket's.
func Limited(address string) netip.Prefix {
	if a, ok := Parse(address); !ok || a.IsLoopback() {
		return netip.Prefix{}
	}
	return Network(address)
}

// Parse reads ADDRESS or ADDRESS:PORT. An address of version 4 in one of version 6 is one of
// version 4.
func Parse(address string) (a netip.Addr, ok bool) {
	if at, err := netip.ParseAddrPort(address); err == nil {
		a = at.Addr()
	} else if a, err = netip.ParseAddr(address); err != nil {
		return a, false
	}
	return a.Unmap().WithZone(""), true
}
