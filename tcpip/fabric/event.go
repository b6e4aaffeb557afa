package fabric

import "time"

// Event is something that happened to a packet.
type Event struct {
	At     time.Time
	Kind   EventKind
	Node   *Node  // where
	Packet []byte // the IP packet; valid during the call
	// number of the packet in the network, from 1 in the order of sending. Its copies and fragments
	// have it too, as has what a NAT makes of it
	Number uint64
	Why    Drop // of EventDropped: the reason
	Sender any  // of EventSent: what Config.Sender returned
}

// EventKind is a kind of event.
type EventKind uint8

// The kinds of events.
const (
	// a host has written the packet, or a router or NAT answers with it
	EventSent      EventKind = iota
	EventDelivered           // the packet has reached a host, or a router or NAT that answers it
	EventDropped             // the packet was dropped at, or on the link from, Node
)

// Drop is the reason why a packet was dropped.
type Drop uint8

// The reasons.
const (
	DropLost        Drop = iota // lost at random on a link
	DropQueueFull               // the queue of a link was full
	DropCoDel                   // dropped by controlled delay
	DropTooBig                  // larger than the MTU of a link
	DropPartitioned             // between hosts that are partitioned
	DropDown                    // for a host that is not attached, or paused for too long
	DropNoRoute                 // to an address that no node has, or that no link leads to
	DropExpired                 // its TTL has run out
	DropFiltered                // from outside a NAT, without a mapping
	DropMalformed               // no IP packet, or one that the NAT cannot translate
	dropCount
)

var dropNames = [dropCount]string{"lost", "queue full", "codel", "too big", "partitioned", "host down", "no route", "TTL expired", "filtered by NAT", "malformed"}

// String returns the reason in words.
func (d Drop) String() string { return dropNames[d] }

func (n *Network) observe(e Event) {
	if n.cfg.Observe != nil {
		n.cfg.Observe(e)
	}
}

// drop reports a packet as dropped.
func (n *Network) drop(at time.Time, where *Node, p *packet, why Drop) {
	where.drops[why]++
	n.observe(Event{At: at, Kind: EventDropped, Node: where, Packet: p.bytes, Number: p.number, Why: why})
}
