package fabric

import (
	"fmt"
	"time"

	"weir/tcpip/link"
)

// Path describes one direction of a link. The zero value delivers every packet at once. Shares are
// from 0 to 1.
type Path struct {
	Delay time.Duration // delay of every packet
	// maximum of an additional random delay, uniformly distributed. It does not reorder packets
	Jitter time.Duration
	Rate   int64 // bits a second, IP headers included; 0: unlimited
	// bytes that may wait because of Rate; packets beyond that are dropped. Default 262,144
	Queue int
	// the queue drops packets by controlled delay too (RFC 8289), with a target of 5 ms and an
	// interval of 100 ms
	CoDel bool
	MTU   int // largest packet in bytes; 0: unlimited
	// packets that are too big are lost in silence, as on a path that filters ICMP. Otherwise the
	// link answers with a Packet Too Big, or fragments a packet that allows it
	BlackHole bool

	Loss      float64    // share of packets lost, independently of each other
	Burst     link.Burst // losses in bursts
	Duplicate float64    // share of packets delivered twice, one directly after the other
	Corrupt   float64    // share of packets with one flipped bit, behind the IP header
	// share of packets delayed by ReorderDelay, so that later packets overtake them
	Reorder      float64
	ReorderDelay time.Duration // default 1 ms
}

// check returns an error for an invalid MTU or share of corrupted packets.
func (p Path) check() error {
	if p.MTU != 0 && (p.MTU < minMTU || p.MTU > 65535) {
		return fmt.Errorf("fabric: a path with an MTU of %d: make it %d to 65,535 bytes (1,280 or more for IPv6), or 0 for none", p.MTU, minMTU)
	}
	if !(p.Corrupt >= 0 && p.Corrupt <= 1) {
		return fmt.Errorf("fabric: a path's Corrupt is %v: make it a share from 0 to 1", p.Corrupt)
	}
	return nil
}

// minMTU is the smallest MTU of a link for IPv4 (RFC 791, section 3.2).
const minMTU = 68

// impairment is the path as an impairment, which has its meanings and defaults.
func (p Path) impairment() link.Impairment {
	return link.Impairment{
		Delay: p.Delay, Jitter: p.Jitter, Rate: p.Rate, QueueBytes: p.Queue, CoDel: p.CoDel,
		Loss: p.Loss, Burst: p.Burst, Duplicate: p.Duplicate, Reorder: p.Reorder, ReorderDelay: p.ReorderDelay,
	}
}
