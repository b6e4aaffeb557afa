package neigh

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"weir/wire"
)

// The constants of RFC 5227, section 1.1.
const (
	// probeWait is the longest delay before the first probe, so that hosts that start together do
	// not probe together.
	probeWait        = time.Second
	probeNum         = 3
	probeMin         = time.Second // between probes
	probeMax         = 2 * time.Second
	announceWait     = 2 * time.Second // from the last probe to the first announcement
	announceNum      = 2
	announceInterval = 2 * time.Second
	// a second conflict within it means that the address is lost
	defendInterval = 10 * time.Second
)

// Policy is what a host does when another uses its address (RFC 5227, section 2.4).
type Policy uint8

// The policies for a conflict.
const (
	// Keep keeps the address and announces it, at most once in ten seconds: for a well-known
	// address, such as that of a server.
	Keep Policy = iota
	// Defend announces the address; a second conflict within ten seconds gives it up.
	Defend
	Yield // gives the address up at once
)

// Claims are the addresses that a host uses on a link (RFC 5227). Each is probed first, if
// requested, then announced, and then defended. A Claims has one owner at a time.
type Claims struct {
	MAC    wire.MAC // of the host
	Policy Policy
	Rand   *rand.Rand // draws the times of probes

	claims    []*claim
	Conflicts uint64 // messages of other hosts that used one of the addresses
}

// claim is the claim to one address.
type claim struct {
	addr           netip.Addr
	phase          phase
	messagesLeft   int  // messages still to be sent in this phase
	dueAt          Time // when the next one is sent, or the phase ends; 0: never
	lastDefendedAt Time // when a conflict was last answered; 0: never
}

// phase is the phase of a claim.
type phase uint8

const (
	probing    phase = iota // the address is not used yet
	announcing              // it is used and being announced
	held                    // it is used
)

// ClaimActions are carried out by the driver during a call.
type ClaimActions interface {
	// Probe broadcasts a request for the address, with an unspecified sender address.
	Probe(addr netip.Addr)
	// Announce broadcasts a request for the address from the address itself.
	Announce(addr netip.Addr)
	Held(addr netip.Addr) // the address may be used from now on
	// Conflict reports another host that uses the address, after Announce; at most once in ten
	// seconds for each address.
	Conflict(addr netip.Addr, by wire.MAC)
	Lost(addr netip.Addr, by wire.MAC) // the address must not be used any more, or at all
}

// Claim claims an address. With probe, Held follows if no host reports a conflict within five to
// seven seconds; otherwise Held is immediate.
func (c *Claims) Claim(addr netip.Addr, probe bool, now Time, do ClaimActions) {
	k := &claim{addr: addr, messagesLeft: probeNum, dueAt: now + Time(c.Rand.Int64N(int64(probeWait)))}
	c.claims = append(c.claims, k)
	if !probe {
		c.startUsing(k, now, do)
	}
}

// startUsing starts to use an address and announces it.
func (c *Claims) startUsing(k *claim, now Time, do ClaimActions) {
	k.phase, k.messagesLeft, k.dueAt = announcing, announceNum, now
	do.Held(k.addr)
	c.tick(k, now, do)
}

// tick handles the deadline of an address.
func (c *Claims) tick(k *claim, now Time, do ClaimActions) {
	if k.dueAt == 0 || now < k.dueAt {
		return
	}
	switch k.phase {
	case probing:
		if k.messagesLeft == 0 {
			c.startUsing(k, now, do)
			return
		}
		do.Probe(k.addr)
		if k.messagesLeft--; k.messagesLeft > 0 {
			k.dueAt = now + Time(probeMin) + Time(c.Rand.Int64N(int64(probeMax-probeMin)))
		} else {
			k.dueAt = now + Time(announceWait)
		}
	case announcing:
		do.Announce(k.addr)
		k.dueAt = now + Time(announceInterval)
		if k.messagesLeft--; k.messagesLeft == 0 {
			k.phase, k.dueAt = held, 0
		}
	}
}

// Tick handles all deadlines, and returns when to call it next; 0: only after another call.
func (c *Claims) Tick(now Time, do ClaimActions) (next Time) {
	for _, k := range c.claims {
		c.tick(k, now, do)
	}
	for _, k := range c.claims {
		if k.dueAt != 0 && (next == 0 || k.dueAt < next) {
			next = k.dueAt
		}
	}
	return next
}

// Receive checks whether a message shows that another host uses, or probes for, one of the
// addresses.
func (c *Claims) Receive(m wire.ARP, now Time, do ClaimActions) {
	if m.SenderMAC() == c.MAC {
		return
	}
	for i, k := range c.claims {
		wants := k.phase == probing && m.Operation() == wire.ARPRequest && m.Sender().IsUnspecified() && m.Target() == k.addr
		if m.Sender() != k.addr && !wants {
			continue
		}
		c.Conflicts++
		if c.mustYield(k, now) {
			c.claims = slices.Delete(c.claims, i, i+1)
			do.Lost(k.addr, m.SenderMAC())
		} else if k.lastDefendedAt == 0 || now-k.lastDefendedAt >= Time(defendInterval) {
			k.lastDefendedAt = now
			do.Announce(k.addr)
			do.Conflict(k.addr, m.SenderMAC())
		}
		return
	}
}

// mustYield reports whether a conflict means that the address is given up.
func (c *Claims) mustYield(k *claim, now Time) bool {
	switch {
	case k.phase == probing:
		return true
	case c.Policy == Defend:
		return k.lastDefendedAt != 0 && now-k.lastDefendedAt < Time(defendInterval)
	}
	return c.Policy == Yield
}
