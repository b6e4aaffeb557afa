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
	probeNum6        = 1           // DupAddrDetectTransmits (RFC 4862, section 5.1)
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
	Timers *Timers    // of IPv6 addresses; nil: the defaults

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
	optimistic              // IPv6: it is used and being probed (RFC 4429)
	announcing              // it is used and being announced
	held                    // it is used
)

// ClaimActions are carried out by the driver during a call.
type ClaimActions interface {
	// Probe sends an ARP probe to all hosts, or a neighbour solicitation with an unspecified
	// source.
	Probe(addr netip.Addr)
	// Announce sends an ARP announcement, or an unsolicited neighbour advertisement.
	Announce(addr netip.Addr)
	Held(addr netip.Addr) // the address may be used from now on
	// Conflict reports another host that uses the address, after Announce; at most once in ten
	// seconds for each address.
	Conflict(addr netip.Addr, by wire.MAC)
	Lost(addr netip.Addr, by wire.MAC) // the address must not be used any more, or at all
}

// Claim claims an address. With probe, Held follows if no host reports a conflict within five to
// seven seconds, or one to two for IPv6; otherwise Held is immediate. An IPv6 address is probed in
// any case, as RFC 4862, section 5.4, demands.
func (c *Claims) Claim(addr netip.Addr, probe bool, now Time, do ClaimActions) {
	k := &claim{addr: addr, messagesLeft: probeNum, dueAt: now + Time(c.Rand.Int64N(int64(probeWait)))}
	if addr.Is6() {
		k.messagesLeft = probeNum6
	}
	c.claims = append(c.claims, k)
	switch {
	case probe:
	case addr.Is6():
		k.phase, k.dueAt = optimistic, now
		do.Held(k.addr)
		c.tick(k, now, do)
	default:
		do.Held(k.addr)
		c.announce(k, now, do)
	}
}

// Withdraw forgets a claim: the host does not use the address any more.
func (c *Claims) Withdraw(addr netip.Addr) {
	c.claims = slices.DeleteFunc(c.claims, func(k *claim) bool { return k.addr == addr })
}

// announce starts to announce an address.
func (c *Claims) announce(k *claim, now Time, do ClaimActions) {
	k.phase, k.messagesLeft, k.dueAt = announcing, announceNum, now
	c.tick(k, now, do)
}

// probe sends the next probe of an address, or ends probing.
func (c *Claims) probe(k *claim, now Time, do ClaimActions) {
	if k.messagesLeft == 0 {
		if k.phase == probing {
			do.Held(k.addr)
		}
		c.announce(k, now, do)
		return
	}
	do.Probe(k.addr)
	k.messagesLeft--
	switch {
	case k.addr.Is6():
		k.dueAt = now + c.Timers.probeWait6()
	case k.messagesLeft > 0:
		k.dueAt = now + Time(probeMin) + Time(c.Rand.Int64N(int64(probeMax-probeMin)))
	default:
		k.dueAt = now + Time(announceWait)
	}
}

// tick handles the deadline of an address.
func (c *Claims) tick(k *claim, now Time, do ClaimActions) {
	if k.dueAt == 0 || now < k.dueAt {
		return
	}
	switch k.phase {
	case probing, optimistic:
		c.probe(k, now, do)
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
	if m.Operation() == wire.ARPRequest && m.Sender().IsUnspecified() {
		c.OtherProbes(m.Target(), m.SenderMAC(), now, do)
	} else {
		c.OtherUses(m.Sender(), m.SenderMAC(), now, do)
	}
}

// OtherProbes reports that another host probes for an address. It matters while the host itself
// does.
func (c *Claims) OtherProbes(addr netip.Addr, by wire.MAC, now Time, do ClaimActions) {
	if k := c.find(addr); k != nil && (k.phase == probing || k.phase == optimistic) {
		c.conflict(k, by, now, do)
	}
}

// OtherUses reports that another host uses an address.
func (c *Claims) OtherUses(addr netip.Addr, by wire.MAC, now Time, do ClaimActions) {
	if k := c.find(addr); k != nil {
		c.conflict(k, by, now, do)
	}
}

// find returns the claim to an address; nil: none.
func (c *Claims) find(addr netip.Addr) *claim {
	for _, k := range c.claims {
		if k.addr == addr {
			return k
		}
	}
	return nil
}

// conflict gives an address up or defends it.
func (c *Claims) conflict(k *claim, by wire.MAC, now Time, do ClaimActions) {
	c.Conflicts++
	if c.mustYield(k, now) {
		c.Withdraw(k.addr)
		do.Lost(k.addr, by)
	} else if k.lastDefendedAt == 0 || now-k.lastDefendedAt >= Time(defendInterval) {
		k.lastDefendedAt = now
		do.Announce(k.addr)
		do.Conflict(k.addr, by)
	}
}

// mustYield reports whether a conflict means that the address is given up.
func (c *Claims) mustYield(k *claim, now Time) bool {
	switch {
	case k.phase == probing, k.phase == optimistic:
		return true
	case c.Policy == Defend:
		return k.lastDefendedAt != 0 && now-k.lastDefendedAt < Time(defendInterval)
	}
	return c.Policy == Yield
}
