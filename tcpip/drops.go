package tcpip

import "sync/atomic"

// Drop is why a packet was dropped. Every packet that is, is counted for one.
type Drop uint8

// The reasons.
const (
	DropFrame      Drop = iota // a frame too short, or of a type that nobody wants
	DropARP                    // a broken message of ARP
	DropIPHeader               // a broken IPv4 header, its checksum included
	DropNotOurs                // for another host
	DropSource                 // from an address that nobody can have who is not the stack
	DropOptions                // source routes, and options that are broken
	DropFragment               // fragments that contradict each other, or too many
	DropProtocol               // of a protocol that nobody wants
	DropICMP                   // a broken message of ICMP, or an error about nothing that was sent
	DropUDPHeader              // a broken datagram
	DropUDPPort                // a datagram for a port that nobody has
	DropSocketFull             // a datagram, packet or frame for a socket whose queue is full
	DropTCPHeader              // a broken segment
	DropTCPPort                // a segment of no connection
	// a SYN for a listener that has enough of them, or for a stack that has enough connections
	DropBacklog
	DropMemory    // there was no buffer
	DropNeighbour // the neighbour did not answer
	DropRoute     // nobody passes it on
	DropDevice    // the device did not take it

	// Run as a network, the queue before a layer was full.
	DropEthernetQueue
	DropARPQueue
	DropIPv4Queue
	DropFragmentsQueue
	DropICMPQueue
	DropUDPQueue
	DropTCPQueue
	drops
)

var dropNames = [drops]string{"frame", "arp", "ip_header", "not_ours", "source", "options", "fragment", "protocol", "icmp", "udp_header", "udp_port", "socket_full",
	"tcp_header", "tcp_port", "backlog", "memory", "neighbour", "route", "device",
	"ethernet_queue", "arp_queue", "ipv4_queue", "fragments_queue", "icmp_queue", "udp_queue", "tcp_queue"}

// String is the reason's name, as metrics have it.
func (d Drop) String() string { return dropNames[d] }

// dropCounts counts them.
type dropCounts [drops]atomic.Uint64

func (c *dropCounts) add(d Drop) { c[d].Add(1) }
