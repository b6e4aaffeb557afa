package tcpip

import "sync/atomic"

// Drop is the reason why a packet was dropped. Every dropped packet counts for exactly one.
type Drop uint8

// The reasons.
const (
	DropFrame      Drop = iota // a frame that is too short or of an unknown type
	DropARP                    // a malformed ARP message
	DropNDP                    // a malformed message of neighbour discovery, or not of this link
	DropIPHeader               // a malformed IP header, or a wrong checksum
	DropNotOurs                // addressed to another host
	DropSource                 // a martian source address
	DropOptions                // source routes, and malformed or unknown options
	DropFragment               // fragments that overlap, exceed the limits or time out
	DropProtocol               // an IP protocol that has no socket
	DropICMP                   // a malformed ICMP message, or an error that quotes no sent packet
	DropUDPHeader              // a malformed UDP datagram
	DropUDPPort                // a datagram for a port without a socket
	DropSocketFull             // a datagram, packet or frame for a socket whose queue is full
	DropTCPHeader              // a malformed TCP segment
	DropTCPPort                // a segment that matches no connection
	// a SYN while the listener's backlog is full, or the stack has the maximum of connections
	DropBacklog
	DropMemory    // no buffer was free: Config.Memory is in use
	DropNeighbour // the neighbour did not answer
	DropRoute     // no route to the destination
	DropDevice    // the device did not accept the frame

	// RunNetwork only: the queue of a layer was full.
	DropEthernetQueue
	DropARPQueue
	DropIPv4Queue
	DropIPv6Queue
	DropFragmentsQueue
	DropICMPQueue
	DropUDPQueue
	DropTCPQueue
	dropReasons
)

var dropNames = [dropReasons]string{"frame", "arp", "ndp", "ip_header", "not_ours", "source", "options", "fragment", "protocol", "icmp", "udp_header", "udp_port", "socket_full",
	"tcp_header", "tcp_port", "backlog", "memory", "neighbour", "route", "device",
	"ethernet_queue", "arp_queue", "ipv4_queue", "ipv6_queue", "fragments_queue", "icmp_queue", "udp_queue", "tcp_queue"}

// String returns the reason's name, the label of its metric.
func (d Drop) String() string { return dropNames[d] }

// dropCounts has a counter for each reason.
type dropCounts [dropReasons]atomic.Uint64

func (c *dropCounts) add(d Drop) { c[d].Add(1) }
