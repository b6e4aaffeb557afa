package neigh

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"weir/wire"
)

// Times of RFC 5227, section 1.1.
const (
	// before the first probe, at most: hosts that start together do not ask together
	probeWait        = time.Second
	probeNum         = 3
	probeMin         = time.Second // between probes
	probeMax         = 2 * time.Second
	announceWait     = 2 * time.Second // from the last probe to the first announcement
	announceNum      = 2
	announceInterval = 2 * time.Second
	defendInterval   = 10 * time.Second // two conflicts within it are one too many
)

// Policy is what becomes of an address that somebody else uses as well (RFC 5227, section 2.4).
type Policy uint8

// The policies.
const (
	// it is kept, and others are told so, once in ten seconds at most: for an address that a host
	// is known by
	Keep Policy = iota
	// others are told so; when another conflict follows within ten seconds, it is given up
	Defend
	Yield // it is given up at once
)

// Claims are the addresses that a host wants to have on a link (RFC 5227). Each is probed for
// first, if that is asked for, then announced, and then watched. A Claims has one owner at a time.
type Claims struct {
	MAC    wire.MAC // the host's
	Policy Policy
	Rand   *rand.Rand // of when probes are sent

	all       []*claim
	Conflicts uint64 // messages of others that used one of the addresses
}

// claim is one address.
type claim struct {
	addr     netip.Addr
	phase    phase
	left     int  // messages still to be sent in this phase
	due      Time // when the next one is, or the phase ends; 0: never
	defended Time // when a conflict was last answered
}

type phase uint8

const (
	probing phase = iota // it is not used
	announcing
	held
)

// ClaimActions are what is to be done after a call.
type ClaimActions interface {
	// broadcast a request for the address that says nothing of the sender's
	Probe(addr netip.Addr)
	// broadcast a request for the address that says that it is the sender's
	Announce(addr netip.Addr)
	Held(addr netip.Addr) // from now on it may be used
	// somebody else uses it, and was told; at most once in ten seconds for each address
	Conflict(addr netip.Addr, by wire.MAC)
	Lost(addr netip.Addr, by wire.MAC) // it must not be used any more, or not be begun to
}

// Begin claims an address. With probe it is held only when nobody has said in five to seven seconds
// that it is taken; otherwise it is at once.
func (c *Claims) Begin(addr netip.Addr, probe bool, now Time, do ClaimActions) {
	k := &claim{addr: addr, left: probeNum, due: now + Time(c.Rand.Int64N(int64(probeWait)))}
	c.all = append(c.all, k)
	if !probe {
		c.announce(k, now, do)
	}
}

// announce begins to use an address.
func (c *Claims) announce(k *claim, now Time, do ClaimActions) {
	k.phase, k.left, k.due = announcing, announceNum, now
	do.Held(k.addr)
	c.tick(k, now, do)
}

// tick does what is due for an address.
func (c *Claims) tick(k *claim, now Time, do ClaimActions) {
	if k.due == 0 || now < k.due {
		return
	}
	switch k.phase {
	case probing:
		if k.left == 0 {
			c.announce(k, now, do)
			return
		}
		do.Probe(k.addr)
		if k.left--; k.left > 0 {
			k.due = now + Time(probeMin) + Time(c.Rand.Int64N(int64(probeMax-probeMin)))
		} else {
			k.due = now + Time(announceWait)
		}
	case announcing:
		do.Announce(k.addr)
		k.due = now + Time(announceInterval)
		if k.left--; k.left == 0 {
			k.phase, k.due = held, 0
		}
	}
}

// Tick does what is due, and says when it is to be called next; 0: not before something else
// happens.
func (c *Claims) Tick(now Time, do ClaimActions) (next Time) {
	for _, k := range c.all {
		c.tick(k, now, do)
	}
	for _, k := range c.all {
		if k.due != 0 && (next == 0 || k.due < next) {
			next = k.due
		}
	}
	return next
}

// Receive looks whether a message says that somebody else has, or wants, one of the addresses.
func (c *Claims) Receive(m wire.ARP, now Time, do ClaimActions) {
	if m.SenderMAC() == c.MAC {
		return
	}
	for i, k := range c.all {
		wants := k.phase == probing && m.Operation() == wire.ARPRequest && m.Sender().IsUnspecified() && m.Target() == k.addr
		if m.Sender() != k.addr && !wants {
			continue
		}
		c.Conflicts++
		if c.yields(k, now) {
			c.all = slices.Delete(c.all, i, i+1)
			do.Lost(k.addr, m.SenderMAC())
		} else if k.defended == 0 || now-k.defended >= Time(defendInterval) {
			k.defended = now
			do.Announce(k.addr)
			do.Conflict(k.addr, m.SenderMAC())
		}
		return
	}
}

// yields says whether an address is given up.
func (c *Claims) yields(k *claim, now Time) bool {
	switch {
	case k.phase == probing:
		return true
	case c.Policy == Defend:
		return k.defended != 0 && now-k.defended < Time(defendInterval)
	}
	return c.Policy == Yield
}
