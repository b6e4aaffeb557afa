// Package neigh finds the hardware addresses of neighbours by ARP (RFC 826), and watches over the
// host's own ([Claims], RFC 5227), as pure state machines: messages and times in, messages and the
// next deadline out. States of neighbours are those of RFC 4861, section 7.3.2, which fit ARP as
// well.
//
// What a stranger can make it do is bounded: neighbours, packets that wait and their bytes, and
// requests, about one neighbour (one a second) and about all (a hundred a second, a part of which
// is for the host's own packets alone). Nobody becomes a neighbour by announcing himself; only who
// asks for the host, or was asked for, does.
//
// # Limitations
//
// A Table has one owner at a time. It keeps at most [Most] neighbours. ARP proves nothing: who is
// on the link can claim any address.
package neigh

import (
	"iter"
	"maps"
	"net/netip"
	"slices"
	"time"

	"weir/wire"
)

// Time is a moment on an axis of the driver's, in ns; zero is none.
type Time int64

// Bounds.
const (
	Most = 1024 // neighbours in a table
	// packets that wait for one neighbour: the fragments of the largest fit
	Waiting = 64
	Bytes   = 4 << 20               // of packets that wait for all
	reach   = 30 * time.Second      // how long an address holds that was confirmed
	retry   = time.Second           // between requests
	tries   = 3                     // requests, before a neighbour counts as silent
	silence = 3 * time.Second       // how long it then counts so
	grace   = 5 * time.Second       // how long a stale address is used before it is asked about
	perRate = 10 * time.Millisecond // between two requests about different neighbours, on average
	burst   = 64                    // requests at once
	// of them, that are for neighbours of the host's own packets alone
	spared = 16
	// how long after a packet has gone to a neighbour it is not forgotten for others
	inUse = 30 * time.Second
	// neighbours that are looked at to find one that can be forgotten
	sample = 64
)

// State is what is known of a neighbour.
type State uint8

// The states.
const (
	Incomplete State = iota // asked, and not answered
	Reachable               // its address is confirmed
	Stale                   // it was, some time ago
	Probing                 // it is used, and asked about
	Failed                  // it does not answer

	States // how many there are
)

// Neighbour is one that packets go to.
type Neighbour struct {
	Addr    netip.Addr
	MAC     wire.MAC
	State   State
	until   Time // when State ends
	used    Time // when a packet last went there; 0: none has
	tries   int
	own     bool // the host's own packets go there: see WaitOwn
	waiting [][]byte
}

// Table is a link's neighbours.
type Table struct {
	MAC   wire.MAC     // the host's
	Addrs []netip.Addr // the host's, that it answers for

	// reports whether an address can be a neighbour's: of others nothing is learnt. Nil: all can
	OnLink func(netip.Addr) bool

	all      map[netip.Addr]*Neighbour
	tokens   float64
	tokensAt Time

	bytes int // of packets that wait

	Dropped uint64 // packets that waited for somebody who did not answer, or were too many
	Changes uint32 // rises whenever a neighbour is no longer where it was
}

// Actions are what is to be done after a call.
type Actions interface {
	// send a request; at is Broadcast, or whom to ask alone
	Ask(target netip.Addr, at wire.MAC)
	// send a packet that waited: its bytes are an Ethernet frame without addresses set
	Release(n *Neighbour, packet []byte)
	Unreachable(target netip.Addr, packet []byte) // it does not answer; packet waited for it
}

// Lookup is the neighbour's hardware address, or false: then wait tells to keep a packet with Wait.
func (t *Table) Lookup(addr netip.Addr, now Time) (*Neighbour, bool) {
	n := t.all[addr]
	if n == nil || n.State == Incomplete || n.State == Failed {
		return nil, false
	}
	return n, true
}

// Wait keeps a packet, if there is one, until the neighbour is known, and asks for it. Of too many
// the oldest go. A neighbour that did not answer is not asked again for some seconds: what is for
// it is unreachable at once.
func (t *Table) Wait(addr netip.Addr, packet []byte, now Time, do Actions) {
	t.wait(addr, packet, false, now, do)
}

// WaitOwn is Wait for a packet that the host sends on its own account, or to a gateway. Answers to
// strangers, who may claim any address, leave a part of the requests to such neighbours, and do not
// displace them while they are asked for.
func (t *Table) WaitOwn(addr netip.Addr, packet []byte, now Time, do Actions) {
	t.wait(addr, packet, true, now, do)
}

func (t *Table) wait(addr netip.Addr, packet []byte, own bool, now Time, do Actions) {
	if t.all == nil {
		t.all = map[netip.Addr]*Neighbour{}
	}
	n := t.all[addr]
	if n == nil {
		if !t.room(now) {
			t.Dropped++
			return
		}
		n = &Neighbour{Addr: addr}
		t.all[addr] = n
	}
	n.own = n.own || own
	if n.State == Failed && now < n.until {
		t.Dropped++
		if packet != nil {
			do.Unreachable(addr, packet)
		}
		return
	}
	if n.State == Failed || n.until == 0 {
		n.State, n.tries, n.until = Incomplete, 0, now
	}
	if packet != nil && len(n.waiting) >= Waiting {
		t.bytes -= len(n.waiting[0])
		n.waiting = n.waiting[1:]
		t.Dropped++
	}
	if t.bytes+len(packet) > Bytes {
		t.Dropped++
	} else if packet != nil {
		n.waiting = append(n.waiting, packet)
		t.bytes += len(packet)
	}
	t.tick(n, now, do)
}

// room reports whether there is room for one more, if need be by forgetting another: one that has
// not answered, or one that is not in use, of whichever there are more. So a flood of one kind, of
// packets from addresses that nobody has or of requests that make their senders known, drives out
// its own. Of all that could be forgotten a few are looked at.
func (t *Table) room(now Time) bool {
	if len(t.all) < Most {
		return true
	}
	var silent, idle *Neighbour
	var silents, idles, seen int
	for _, n := range t.all {
		switch seen++; {
		case n.State == Incomplete && n.own:
		case n.State == Incomplete || n.State == Failed:
			silent = n
			silents++
		case n.used == 0 || now-n.used >= Time(inUse):
			idle = n
			idles++
		}
		if seen >= sample && silents+idles > 0 {
			break
		}
	}
	switch {
	case silents > 0 && silents >= idles:
		t.forget(silent)
	case idles > 0:
		t.forget(idle)
	default:
		return false
	}
	return true
}

// forget drops a neighbour, and what waits for it.
func (t *Table) forget(n *Neighbour) {
	t.Dropped += uint64(len(t.taken(n)))
	delete(t.all, n.Addr)
}

// allowed reports whether a request may be sent now.
func (t *Table) allowed(own bool, now Time) bool {
	t.tokens = min(burst, t.tokens+float64(now-t.tokensAt)/float64(perRate))
	if t.tokensAt == 0 {
		t.tokens = burst
	}
	t.tokensAt = now
	if t.tokens < 1 || !own && t.tokens < 1+spared {
		return false
	}
	t.tokens--
	return true
}

// tick does what is due for a neighbour.
func (t *Table) tick(n *Neighbour, now Time, do Actions) {
	if n.until == 0 || now < n.until {
		return
	}
	switch n.State {
	case Reachable:
		n.State, n.until = Stale, 0
	case Incomplete, Probing:
		if n.tries >= tries {
			t.failed(n, now, do)
			return
		}
		n.until = now + Time(retry)
		if t.allowed(n.own, now) {
			n.tries++
			at := wire.Broadcast
			if n.State == Probing {
				at = n.MAC
			}
			do.Ask(n.Addr, at)
		}
	case Failed:
		delete(t.all, n.Addr)
	}
}

func (t *Table) failed(n *Neighbour, now Time, do Actions) {
	n.State, n.until = Failed, now+Time(silence)
	t.Changes++
	for _, p := range t.taken(n) {
		t.Dropped++
		do.Unreachable(n.Addr, p)
	}
}

// taken are the packets that wait for a neighbour, which wait no longer.
func (t *Table) taken(n *Neighbour) [][]byte {
	all := n.waiting
	n.waiting = nil
	for _, p := range all {
		t.bytes -= len(p)
	}
	return all
}

// Used notes that a packet goes to a neighbour: one that is stale is asked about if nothing
// confirms it soon. It says whether Tick has to be called for that, sooner than it said.
func (t *Table) Used(n *Neighbour, now Time) (soon bool) {
	n.used = now
	if n.State != Stale {
		return false
	}
	n.State, n.until, n.tries = Probing, now+Time(grace), 0
	return true
}

// Receive takes a message, and says whether it asks for us.
func (t *Table) Receive(m wire.ARP, now Time, do Actions) (asked bool) {
	if m.SenderMAC().Group() || m.SenderMAC() == t.MAC {
		return false
	}
	forUs := slices.Contains(t.Addrs, m.Target())
	// a probe, or somebody with our address: no neighbour
	if m.Sender().IsUnspecified() || slices.Contains(t.Addrs, m.Sender()) {
		return forUs && m.Operation() == wire.ARPRequest && m.Sender().IsUnspecified()
	}
	if n := t.all[m.Sender()]; n != nil {
		t.learn(n, m, forUs && m.Operation() == wire.ARPReply, now, do)
	} else if forUs && m.Operation() == wire.ARPRequest && (t.OnLink == nil || t.OnLink(m.Sender())) && t.room(now) {
		if t.all == nil {
			t.all = map[netip.Addr]*Neighbour{}
		}
		t.all[m.Sender()] = &Neighbour{Addr: m.Sender(), MAC: m.SenderMAC(), State: Stale}
	}
	return forUs && m.Operation() == wire.ARPRequest
}

// learn takes a neighbour's address. An answer confirms it; anything else only says what it may be.
func (t *Table) learn(n *Neighbour, m wire.ARP, answer bool, now Time, do Actions) {
	if n.State == Incomplete || n.State == Failed || n.MAC != m.SenderMAC() || answer {
		if n.MAC != m.SenderMAC() {
			t.Changes++
		}
		n.MAC = m.SenderMAC()
		n.State, n.until, n.tries = Stale, 0, 0
		if answer {
			n.State, n.until = Reachable, now+Time(reach)
		}
	}
	for _, p := range t.taken(n) {
		do.Release(n, p)
	}
}

// Tick does what is due, and says when it is to be called next; 0: not before something else
// happens.
func (t *Table) Tick(now Time, do Actions) (next Time) {
	for _, n := range t.all {
		t.tick(n, now, do)
	}
	for _, n := range t.all {
		if n.until != 0 && (next == 0 || n.until < next) {
			next = n.until
		}
	}
	return next
}

// All are the neighbours, in no order. The table is not to be changed meanwhile.
func (t *Table) All() iter.Seq[*Neighbour] { return maps.Values(t.all) }

// Waiting is how many packets wait for the neighbour.
func (n *Neighbour) Waiting() int { return len(n.waiting) }

var stateNames = [...]string{"incomplete", "reachable", "stale", "probing", "failed"}

// String is the state's name, as people and metrics have it.
func (s State) String() string { return stateNames[s] }
