// Package neigh resolves the hardware addresses of neighbours by ARP (RFC 826) and by neighbour
// discovery (RFC 4861), and detects address conflicts ([Claims], RFC 5227, RFC 4862), as pure state
// machines: messages and times in, messages and the next deadline out. The states of neighbours are
// those of RFC 4861, section 7.3.2, which suit ARP too.
//
// What other hosts can cause is bounded: neighbours, queued packets and their bytes, and requests.
// One neighbour is requested once a second, or five times if routers announce that ([Timers]), all
// together a hundred times a second. Part of that is reserved for the host's own packets. An
// announcement adds no neighbour; only a request for the host's address, or an answer to the host's
// request, does.
//
// # Limitations
//
// A Table has one owner at a time and keeps at most [MaxNeighbours] neighbours. ARP has no
// authentication: any host on the link can claim any address.
package neigh

import (
	"iter"
	"maps"
	"net/netip"
	"slices"
	"time"

	"weir/wire"
)

// Time is a time on the driver's clock, in ns; zero is none.
type Time int64

// Limits and intervals.
const (
	MaxNeighbours = 1024 // neighbours in a table
	// MaxWaitingPackets is how many packets wait for one neighbour: the fragments of the largest
	// packet fit.
	MaxWaitingPackets = 64
	MaxWaitingBytes   = 4 << 20 // of the packets that wait for all neighbours
	// Defaults of Timers: how long a confirmed address stays Reachable (REACHABLE_TIME), and the
	// time between requests to one neighbour (RETRANS_TIMER).
	reachableTime   = 30 * time.Second
	requestInterval = time.Second
	maxRequests     = 3               // requests before a neighbour is Failed
	failedTime      = 3 * time.Second // how long it stays Failed
	// how long a stale address is used before it is probed
	firstProbeDelay     = 5 * time.Second
	requestRateInterval = 10 * time.Millisecond // between requests to all neighbours, on average
	requestBurst        = 64                    // requests at once
	// reservedRequests are those of a burst that only the host's own packets may use.
	reservedRequests = 16
	// inUseTime is how long after a packet a neighbour is not evicted.
	inUseTime = 30 * time.Second
	// evictionSample is how many neighbours are examined to find one to evict.
	evictionSample = 64
)

// State is the state of a neighbour (RFC 4861, section 7.3.2).
type State uint8

// The states of a neighbour.
const (
	Incomplete State = iota // requested and not answered
	Reachable               // its address is confirmed
	Stale                   // it was confirmed some time ago
	// It has been used since it became Stale, and is probed after firstProbeDelay. This is DELAY
	// and PROBE of RFC 4861 in one.
	Probing
	Failed // it did not answer

	StateCount // number of states
)

// Neighbour is a neighbour on the link.
type Neighbour struct {
	Addr           netip.Addr
	MAC            wire.MAC
	State          State
	stateUntil     Time // when State changes by itself; 0: never, or not requested yet
	lastUsedAt     Time // when a packet was last sent to it; 0: never
	requests       int  // unanswered requests in this state
	forOwnPackets  bool // QueueOwn has queued a packet for it
	waitingPackets [][]byte
}

// Table holds the neighbours of a link.
type Table struct {
	MAC   wire.MAC     // of the host
	Addrs []netip.Addr // of the host: requests for them are answered

	// OnLink reports whether an address belongs to the link's network: others are not added. Nil:
	// all do.
	OnLink func(netip.Addr) bool
	Timers Timers // of IPv6 neighbours

	neighbours      map[netip.Addr]*Neighbour
	requestTokens   float64 // token bucket of requests
	requestTokensAt Time    // when requestTokens was last computed

	waitingBytes int // of all waiting packets

	// packets dropped: the neighbour did not answer, too many packets waited, or no neighbour could
	// be added
	Dropped uint64
	Changes uint32 // how often a neighbour changed its address or failed to answer
}

// Actions are carried out by the driver during a call.
type Actions interface {
	// SendRequest sends an ARP request, or a neighbour solicitation, to a hardware address.
	// Broadcast stands for all that may have the target's address.
	SendRequest(target netip.Addr, at wire.MAC)
	// SendQueued sends a packet that was queued: an Ethernet frame whose addresses are not set.
	SendQueued(n *Neighbour, packet []byte)
	// Unreachable reports that the target did not answer. The packet waited for it, or was to be
	// queued for a neighbour that is Failed.
	Unreachable(target netip.Addr, packet []byte)
}

// Lookup returns a neighbour whose address is known. If ok is false, the packet must be queued.
func (t *Table) Lookup(addr netip.Addr) (n *Neighbour, ok bool) {
	n = t.neighbours[addr]
	if n == nil || n.State == Incomplete || n.State == Failed {
		return nil, false
	}
	return n, true
}

// Queue keeps a packet until the neighbour is resolved, and requests it. Lookup must have returned
// false before. packet may be nil. When too many packets wait, the oldest is dropped. A neighbour
// that did not answer is not requested again for some seconds: its packets are unreachable at once.
//
// Queue is for replies: another host can cause these by its packets, from any source address.
func (t *Table) Queue(addr netip.Addr, packet []byte, now Time, do Actions) {
	t.queue(addr, packet, false, now, do)
}

// QueueOwn is Queue for a packet that the host sends of its own accord, or sends to a gateway. Some
// requests are reserved for the neighbours of these packets, and they are not evicted while they
// are being resolved. So a flood that causes replies cannot keep the host from resolving them.
func (t *Table) QueueOwn(addr netip.Addr, packet []byte, now Time, do Actions) {
	t.queue(addr, packet, true, now, do)
}

// queue is Queue, and QueueOwn if own is set.
func (t *Table) queue(addr netip.Addr, packet []byte, own bool, now Time, do Actions) {
	n := t.neighbours[addr]
	if n == nil {
		if !t.evictIfFull(now) {
			t.Dropped++
			return
		}
		n = &Neighbour{Addr: addr}
		t.add(n)
	}
	n.forOwnPackets = n.forOwnPackets || own
	if n.State == Failed && now < n.stateUntil {
		t.Dropped++
		if packet != nil {
			do.Unreachable(addr, packet)
		}
		return
	}
	// A neighbour that Lookup did not return is Incomplete or Failed. With stateUntil 0 it is new.
	if n.State == Failed || n.stateUntil == 0 {
		n.State, n.requests, n.stateUntil = Incomplete, 0, now
	}
	if packet != nil && len(n.waitingPackets) >= MaxWaitingPackets {
		t.waitingBytes -= len(n.waitingPackets[0])
		n.waitingPackets = n.waitingPackets[1:]
		t.Dropped++
	}
	if t.waitingBytes+len(packet) > MaxWaitingBytes {
		t.Dropped++
	} else if packet != nil {
		n.waitingPackets = append(n.waitingPackets, packet)
		t.waitingBytes += len(packet)
	}
	t.tick(n, now, do)
}

// evictIfFull reports whether the table can take one more neighbour. If it is full, this evicts an
// unresolved neighbour or an idle one, of the kind that is more frequent among a few candidates. A
// flood of packets to unused addresses adds unresolved neighbours. A flood of requests adds their
// senders, which are idle. So each flood evicts its own entries.
func (t *Table) evictIfFull(now Time) bool {
	if len(t.neighbours) < MaxNeighbours {
		return true
	}
	var unresolved, idle *Neighbour
	var unresolvedCount, idleCount, examined int
	for _, n := range t.neighbours {
		switch examined++; {
		case n.State == Incomplete && n.forOwnPackets:
		case n.State == Incomplete || n.State == Failed:
			unresolved = n
			unresolvedCount++
		case n.lastUsedAt == 0 || now-n.lastUsedAt >= Time(inUseTime):
			idle = n
			idleCount++
		}
		if examined >= evictionSample && unresolvedCount+idleCount > 0 {
			break
		}
	}
	switch {
	case unresolvedCount > 0 && unresolvedCount >= idleCount:
		t.remove(unresolved)
	case idleCount > 0:
		t.remove(idle)
	default:
		return false
	}
	return true
}

// remove deletes a neighbour and the packets that wait for it.
func (t *Table) remove(n *Neighbour) {
	t.Dropped += uint64(len(t.takeWaiting(n)))
	delete(t.neighbours, n.Addr)
}

// takeRequestToken reports whether a request may be sent now, and counts it.
func (t *Table) takeRequestToken(own bool, now Time) bool {
	t.requestTokens = min(requestBurst, t.requestTokens+float64(now-t.requestTokensAt)/float64(requestRateInterval))
	if t.requestTokensAt == 0 {
		t.requestTokens = requestBurst
	}
	t.requestTokensAt = now
	if t.requestTokens < 1 || !own && t.requestTokens < 1+reservedRequests {
		return false
	}
	t.requestTokens--
	return true
}

// tick handles the deadline of a neighbour.
func (t *Table) tick(n *Neighbour, now Time, do Actions) {
	if n.stateUntil == 0 || now < n.stateUntil {
		return
	}
	switch n.State {
	case Reachable:
		n.State, n.stateUntil = Stale, 0
	case Incomplete, Probing:
		if n.requests >= maxRequests {
			t.markFailed(n, now, do)
			return
		}
		n.stateUntil = now + t.requestInterval(n)
		if t.takeRequestToken(n.forOwnPackets, now) {
			n.requests++
			at := wire.Broadcast
			if n.State == Probing {
				at = n.MAC
			}
			do.SendRequest(n.Addr, at)
		}
	case Failed:
		delete(t.neighbours, n.Addr)
	}
}

// markFailed makes a neighbour Failed, and reports the packets that wait for it as unreachable.
func (t *Table) markFailed(n *Neighbour, now Time, do Actions) {
	n.State, n.stateUntil = Failed, now+Time(failedTime)
	t.Changes++
	for _, p := range t.takeWaiting(n) {
		t.Dropped++
		do.Unreachable(n.Addr, p)
	}
}

// takeWaiting removes and returns the packets that wait for a neighbour.
func (t *Table) takeWaiting(n *Neighbour) [][]byte {
	all := n.waitingPackets
	n.waitingPackets = nil
	for _, p := range all {
		t.waitingBytes -= len(p)
	}
	return all
}

// MarkUsed records that a packet is sent to a neighbour: a stale one will be probed unless an
// answer confirms it soon. earlier reports whether Tick must now be called earlier than it said.
func (t *Table) MarkUsed(n *Neighbour, now Time) (earlier bool) {
	n.lastUsedAt = now
	if n.State != Stale {
		return false
	}
	n.State, n.stateUntil, n.requests = Probing, now+Time(firstProbeDelay), 0
	return true
}

// Receive processes an ARP message and reports whether it requests an address of the host's.
func (t *Table) Receive(m wire.ARP, now Time, do Actions) (requested bool) {
	if m.SenderMAC().IsGroup() || m.SenderMAC() == t.MAC {
		return false
	}
	forUs := slices.Contains(t.Addrs, m.Target())
	// an ARP probe, or a host that uses our address: not a neighbour
	if m.Sender().IsUnspecified() || slices.Contains(t.Addrs, m.Sender()) {
		return forUs && m.Operation() == wire.ARPRequest && m.Sender().IsUnspecified()
	}
	if n := t.neighbours[m.Sender()]; n != nil {
		t.updateNeighbour(n, m, forUs && m.Operation() == wire.ARPReply, now, do)
	} else if forUs && m.Operation() == wire.ARPRequest && (t.OnLink == nil || t.OnLink(m.Sender())) && t.evictIfFull(now) {
		t.add(&Neighbour{Addr: m.Sender(), MAC: m.SenderMAC(), State: Stale})
	}
	return forUs && m.Operation() == wire.ARPRequest
}

// updateNeighbour takes a neighbour's address from a message, and sends the packets that wait for
// it. An answer to the host's request makes the neighbour Reachable. Another message makes it Stale
// if its address was unknown or is a different one; otherwise the state stays.
func (t *Table) updateNeighbour(n *Neighbour, m wire.ARP, answer bool, now Time, do Actions) {
	if n.State == Incomplete || n.State == Failed || n.MAC != m.SenderMAC() || answer {
		t.learn(n, m.SenderMAC(), answer, now, do)
		return
	}
	for _, p := range t.takeWaiting(n) {
		do.SendQueued(n, p)
	}
}

// Tick handles all deadlines, and returns when to call it next; 0: only after another call.
func (t *Table) Tick(now Time, do Actions) (next Time) {
	for _, n := range t.neighbours {
		t.tick(n, now, do)
	}
	for _, n := range t.neighbours {
		if n.stateUntil != 0 && (next == 0 || n.stateUntil < next) {
			next = n.stateUntil
		}
	}
	return next
}

// All returns the neighbours in no particular order. The table must not change during the
// iteration.
func (t *Table) All() iter.Seq[*Neighbour] { return maps.Values(t.neighbours) }

// Waiting is how many packets wait for the neighbour.
func (n *Neighbour) Waiting() int { return len(n.waitingPackets) }

var stateNames = [...]string{"incomplete", "reachable", "stale", "probing", "failed"}

// String returns the name of the state, as in metrics.
func (s State) String() string { return stateNames[s] }
