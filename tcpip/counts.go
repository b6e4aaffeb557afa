package tcpip

import (
	"sync/atomic"

	"weir/wire"
)

// carried is what a packet of IP carries, as it is counted.
type carried uint8

const (
	carriesTCP carried = iota
	carriesUDP
	carriesICMP
	carriesOther
	carriedKinds
)

var carriedNames = [carriedKinds]string{"tcp", "udp", "icmp", "other"}

func carries(p wire.Protocol) carried {
	switch p {
	case wire.TCPProtocol:
		return carriesTCP
	case wire.UDPProtocol:
		return carriesUDP
	case wire.ICMPv4Protocol:
		return carriesICMP
	}
	return carriesOther
}

// laneCounts are a lane's counters. What the reader counts has a line of the cache of its own, so
// that it is never taken from it but to be looked at. A superframe is one packet: a device cuts it,
// or has merged it.
type laneCounts struct {
	_    [64]byte
	came [carriedKinds]atomic.Uint64 // packets that were whole and for the stack; the reader's
	_    [64]byte
	// packets that were given to the link, or to a neighbour's queue; anybody's
	went [carriedKinds]atomic.Uint64

	resent atomic.Uint64 // segments that were sent again; anybody's
	_      [64]byte
}
