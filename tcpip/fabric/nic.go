package fabric

import (
	"sync/atomic"
	"time"

	"weir/tcpip/link"
)

// nic is the interface of a host: a link of bare IP packets. Delivered packets wait in one
// direction of a pair in memory; those that the stack writes go to the network at once.
type nic struct {
	node   *Node
	inside link.Link  // the stack's end of the pair
	feed   link.Queue // the network's end
	closed atomic.Bool
	queue  nicQueue
}

// nicQueue is the only queue of an interface.
type nicQueue struct {
	nic   *nic
	inner link.Queue

	sent, sentBytes, refused, closed atomic.Uint64
}

// queueDepth is how many packets wait for a stack that does not read.
const queueDepth = 4096

// Attach gives the host a new interface, in place of an earlier one, which no longer carries
// anything. The link is for one stack, which closes it.
func (n *Node) Attach() link.Link {
	inside, outside := link.Pair(link.PairConfig{Medium: link.IP, MTU: n.mtu, Depth: queueDepth})
	c := &nic{node: n, inside: inside, feed: outside.Queue(0)}
	c.queue = nicQueue{nic: c, inner: inside.Queue(0)}
	n.net.mu.Lock()
	defer n.net.mu.Unlock()
	n.setNIC(c)
	return c
}

// Detach takes the host's interface away: what is under way to the host and from it is dropped.
func (n *Node) Detach() {
	n.net.mu.Lock()
	defer n.net.mu.Unlock()
	n.setNIC(nil)
}

// Pause holds all packets to and from the host back, as in a machine that has stopped, until
// Resume: at most 1,024 of them.
func (n *Node) Pause() {
	n.net.mu.Lock()
	defer n.net.mu.Unlock()
	n.paused = true
}

// Resume continues after Pause.
func (n *Node) Resume() {
	n.net.mu.Lock()
	defer n.net.mu.Unlock()
	now := time.Now()
	held := n.held
	n.paused, n.held = false, nil
	for _, h := range held {
		switch {
		case h.arrived != nil:
			n.net.schedule(now, n, h.arrived)
		case n.net.cfg.Ordered:
			h.written.at = now
			n.net.written = append(n.net.written, *h.written)
		default:
			h.written.at = now
			n.net.begin(*h.written)
		}
	}
	n.net.arm(now)
}

// hold holds a packet of a paused host back.
func (n *Node) hold(h heldPacket) {
	if len(n.held) < maxHeld {
		n.held = append(n.held, h)
		return
	}
	n.discard(h)
}

// discard drops a held packet, which its host may have written.
func (n *Node) discard(h heldPacket) {
	now, p := time.Now(), h.arrived
	if p == nil {
		h.written.at, p = now, h.written.packet
		n.net.noteSent(*h.written)
	}
	n.net.drop(now, n, p, DropDown)
}

// setNIC changes the host's interface, and drops what it had held.
func (n *Node) setNIC(c *nic) {
	held := n.held
	n.nic, n.paused, n.held = c, false, nil
	for _, h := range held {
		n.discard(h)
	}
}

// deliver hands a packet to the stack, and reports whether its queue had room.
func (c *nic) deliver(b []byte) bool { return c.feed.Write(&link.Parts{Head: b}) }

// Caps implements link.Link.
func (c *nic) Caps() link.Caps { return c.inside.Caps() }

// Queue implements link.Link.
func (c *nic) Queue(int) link.Queue { return &c.queue }

// Close implements link.Link.
func (c *nic) Close() error {
	c.closed.Store(true)
	return c.inside.Close()
}

// Read implements link.Queue.
func (q *nicQueue) Read(batch []link.Frame, wait time.Duration) (int, error) {
	return q.inner.Read(batch, wait)
}

// Wake implements link.Queue.
func (q *nicQueue) Wake() { q.inner.Wake() }

// Write implements link.Queue. It reports whether the packet was sent.
func (q *nicQueue) Write(p *link.Parts) bool {
	n := p.Len()
	switch {
	case q.nic.closed.Load():
		q.closed.Add(1)
		return false
	case n == 0 || n > q.nic.node.mtu || p.SegmentSize != 0 || p.ChecksumPartial:
		q.refused.Add(1)
		return false
	}
	q.nic.node.net.write(q.nic, p.AppendTo(make([]byte, 0, n)))
	q.sent.Add(1)
	q.sentBytes.Add(uint64(n))
	return true
}

// Counters implements link.Queue.
func (q *nicQueue) Counters() link.Counters {
	c := q.inner.Counters()
	c.Sent, c.SentBytes = q.sent.Load(), q.sentBytes.Load()
	c.Dropped[link.DropRefused] += q.refused.Load()
	c.Dropped[link.DropClosed] += q.closed.Load()
	return c
}
