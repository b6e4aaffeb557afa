package fabric

import (
	"bytes"
	"container/heap"
	"slices"
	"sync"
	"time"
)

// Config configures a network. The zero value of a field means its default.
type Config struct {
	Seed uint64 // of the random numbers of all links
	// Ordered makes what happens to packets independent of the order in which the goroutines of an
	// instant run: see the package. It needs the virtual time of testing/synctest.
	Ordered bool
	// Observe is called for each event, in the order of their times, under the network's lock: it
	// must not block and must not call the network. nil: not at all
	Observe func(Event)
	// Sender is called by the goroutine that writes a packet; what it returns is in the Event of
	// EventSent. nil: not at all
	Sender func() any
}

// Network is a virtual network. Any goroutine may call its methods and those of its nodes and
// links, at any time.
type Network struct {
	cfg Config

	mu       sync.Mutex
	nodes    []*Node
	byName   map[string]*Node
	links    []*Link
	public   *realm
	realms   int             // number of NATs
	written  []writtenPacket // packets that wait for the next instant (Ordered)
	inFlight eventHeap       // packets on links
	order    uint64          // of the last scheduled packet
	packets  uint64          // number of the last packet
	// from, to: packets between these are dropped
	blocked map[[2]*Node]struct{}
	timer   *time.Timer // calls onTimer when the next packet is due; nil before the first
	timerAt time.Time   // when the timer is due; zero: it is stopped
	closed  bool
}

// New returns a network without nodes.
func New(c Config) *Network {
	n := &Network{cfg: c, byName: map[string]*Node{}, blocked: map[[2]*Node]struct{}{}}
	n.public = newPublicRealm()
	return n
}

// Close closes the network: packets in flight are dropped, and interfaces drop what is written.
func (n *Network) Close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	n.inFlight, n.written = nil, nil
	if n.timer != nil {
		n.timer.Stop()
	}
}

// packet is a packet on its way. Its bytes are not shared with another one.
type packet struct {
	bytes  []byte
	number uint64 // of the packet: see Event
	from   *Node  // the host or router that sent it
	prev   *Node  // the node that it was at before; nil: none
}

// writtenPacket is a packet that a host has written.
type writtenPacket struct {
	at     time.Time
	packet *packet
	sender any
}

// arrival is the arrival of a packet at a node.
type arrival struct {
	at     time.Time
	order  uint64 // of arrivals at the same time
	node   *Node
	packet *packet
}

// write takes a packet that a host has written by an interface, and its bytes.
func (n *Network) write(c *nic, b []byte) {
	var sender any
	if n.cfg.Sender != nil {
		sender = n.cfg.Sender()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	host := c.node
	if n.closed || host.nic != c { // the host has crashed, or was attached again
		return
	}
	now := time.Now()
	w := writtenPacket{now, &packet{bytes: b, from: host}, sender}
	if host.paused {
		host.hold(heldPacket{written: &w})
		return
	}
	if n.cfg.Ordered {
		n.written = append(n.written, w)
		n.arm(now)
		return
	}
	n.begin(w)
	n.run(now)
}

// begin sends a written packet on its way.
func (n *Network) begin(w writtenPacket) {
	n.noteSent(w)
	n.forward(w.at, w.packet.from, w.packet)
}

// noteSent gives a written packet its number, and reports it.
func (n *Network) noteSent(w writtenPacket) {
	p := w.packet
	n.packets++
	p.number = n.packets
	n.observe(Event{At: w.at, Kind: EventSent, Node: p.from, Packet: p.bytes, Number: p.number, Sender: w.sender})
}

// schedule schedules the arrival of a packet.
func (n *Network) schedule(at time.Time, node *Node, p *packet) {
	n.order++
	heap.Push(&n.inFlight, arrival{at, n.order, node, p})
}

// onTimer is called by the timer.
func (n *Network) onTimer() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return
	}
	n.timerAt = time.Time{}
	n.run(time.Now())
}

// run moves all packets that are due, and sets the timer for the next one. With Ordered it stops
// before the second packet of an instant for a host: that one has its turn a nanosecond later, when
// the goroutines that the first one wakes have run.
func (n *Network) run(now time.Time) {
	n.beginWritten(now)
	delivered := false
	for len(n.inFlight) > 0 && !n.inFlight[0].at.After(now) {
		isHost := n.inFlight[0].node.kind == hostNode
		if n.cfg.Ordered && isHost && delivered {
			break
		}
		delivered = delivered || isHost
		a := heap.Pop(&n.inFlight).(arrival)
		if n.cfg.Ordered {
			a.at = now // it may have waited for its turn
		}
		n.arrive(a.at, a.node, a.packet)
	}
	n.arm(now)
}

// beginWritten sends the packets of earlier instants, sorted within each instant.
func (n *Network) beginWritten(now time.Time) {
	count := 0
	for count < len(n.written) && n.written[count].at.Before(now) {
		count++
	}
	if count == 0 {
		return
	}
	due := n.written[:count]
	slices.SortStableFunc(due, compareWritten)
	for _, w := range due {
		n.begin(w)
	}
	n.written = slices.Delete(n.written, 0, count)
}

// compareWritten compares packets by time, host and flow. Those of a flow keep their order.
func compareWritten(a, b writtenPacket) int {
	if c := a.at.Compare(b.at); c != 0 {
		return c
	}
	if a.packet.from != b.packet.from {
		return a.packet.from.index - b.packet.from.index
	}
	x, y := flowOf(a.packet.bytes), flowOf(b.packet.bytes)
	return bytes.Compare(x[:], y[:])
}

// arm sets the timer for the next packet.
func (n *Network) arm(now time.Time) {
	var next time.Time
	if len(n.inFlight) > 0 {
		next = n.inFlight[0].at
	}
	if len(n.written) > 0 {
		if at := n.written[0].at; next.IsZero() || !at.After(next) {
			next = at
		}
	}
	if next.IsZero() {
		return
	}
	if !next.After(now) {
		next = now.Add(1)
	}
	if !n.timerAt.IsZero() && !next.Before(n.timerAt) {
		return
	}
	n.timerAt = next
	if n.timer == nil {
		n.timer = time.AfterFunc(next.Sub(now), n.onTimer)
		return
	}
	n.timer.Reset(next.Sub(now))
}

// eventHeap is a heap (container/heap) of arrivals by time.
type eventHeap []arrival

func (h eventHeap) Len() int { return len(h) }

func (h eventHeap) Less(i, j int) bool {
	if h[i].at.Equal(h[j].at) {
		return h[i].order < h[j].order
	}
	return h[i].at.Before(h[j].at)
}

func (h eventHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *eventHeap) Push(x any) { *h = append(*h, x.(arrival)) }

// Pop implements heap.Interface.
func (h *eventHeap) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	(*h)[last] = arrival{}
	*h = (*h)[:last]
	return x
}
