package tcpip

import (
	"sync/atomic"

	"weir/wire"
)

// payloadKind is the protocol of an IP packet, as the counters distinguish it.
type payloadKind uint8

const (
	kindTCP payloadKind = iota
	kindUDP
	kindICMP
	kindOther
	payloadKinds
)

var payloadKindNames = [payloadKinds]string{"tcp", "udp", "icmp", "other"}

func payloadKindOf(p wire.Protocol) payloadKind {
	switch p {
	case wire.TCPProtocol:
		return kindTCP
	case wire.UDPProtocol:
		return kindUDP
	case wire.ICMPv4Protocol, wire.ICMPv6Protocol:
		return kindICMP
	}
	return kindOther
}

// readerCounts are the counters of a reader. Padding keeps those that the reader writes on a cache
// line of their own, so that other writers do not invalidate it (false sharing). A superframe
// counts as one packet.
type readerCounts struct {
	_ [64]byte
	// packets for the stack, after reassembly; written by the reader
	received [payloadKinds]atomic.Uint64
	_        [64]byte
	// packets given to the link or to a neighbour's queue; written by any goroutine
	sent [payloadKinds]atomic.Uint64

	retransmitted atomic.Uint64 // retransmitted segments; written by any goroutine
	_             [64]byte
}
