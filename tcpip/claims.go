package tcpip

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"weir/tcpip/link"
	"weir/tcpip/ndp"
	"weir/tcpip/neigh"
	"weir/tcpip/tcp"
	"weir/wire"
)

// Conflict reports that another host uses an address of the stack (RFC 5227).
type Conflict struct {
	Addr netip.Addr
	By   wire.MAC
	// the stack has given the address up: its connections are reset, and packets from and for it
	// are dropped. Another one replaces an address that the stack has made, at most twice
	Lost bool
}

// claimResult is the result of probing for an address.
type claimResult struct {
	addr  netip.Addr
	by    wire.MAC // the host that uses the address; zero unless inUse
	inUse bool
}

// startClaims starts to claim the interface's addresses. The first reader sends the probes.
func (i *iface) startClaims() {
	if !i.resolvesNeighbours() {
		i.claimAddrs(i.configured())
		return
	}
	i.ownAddrs.Store(newAddresses(nil, i.name))
	i.neigh.MAC, i.neigh.OnLink = i.caps.MAC, i.onLink
	i.claims = neigh.Claims{MAC: i.caps.MAC, Policy: i.s.cfg.ConflictPolicy, Rand: i.s.random, Timers: &i.neigh.Timers}
	i.neigh.Timers.Rand = i.claims.Rand
	i.claimResults = make(chan claimResult, len(i.configured()))
	i.awaited = map[netip.Addr]chan claimResult{}
	i.claimAddrs(i.configured())
}

// claimTimeout exceeds the duration of probing.
const claimTimeout = 30 * time.Second

// awaitClaims waits until every address is claimed, or returns an error if one is in use.
func (i *iface) awaitClaims(ctx context.Context) error {
	timer := time.NewTimer(claimTimeout)
	defer timer.Stop()
	for range i.configured() {
		select {
		case c := <-i.claimResults:
			if c.inUse {
				return fmt.Errorf("tcpip: the address %v is in use by %v: give the stack or that host another address", c.addr, c.by)
			}
		case <-ctx.Done():
			return fmt.Errorf("tcpip: probing for %v was interrupted: %w", i.configured()[0].Addr(), context.Cause(ctx))
		case <-timer.C:
			return fmt.Errorf("tcpip: no probe for %v was sent within 30 s: check that the link is up", i.configured()[0].Addr())
		}
	}
	return nil
}

// claimActions implements neigh.ClaimActions. The interface's lock is held during each call.
type claimActions struct{ l *reader }

// Probe implements neigh.ClaimActions.
func (c claimActions) Probe(a netip.Addr) {
	if a.Is6() {
		c.l.sendSolicitation(a, netip.Addr{}, wire.Broadcast)
		return
	}
	c.l.sendARP(wire.ARPRequest, wire.Broadcast, netip.IPv4Unspecified(), wire.MAC{}, a)
}

// Announce implements neigh.ClaimActions.
func (c claimActions) Announce(a netip.Addr) {
	if a.Is6() {
		c.l.sendAdvertisement(a, allNodes, false)
		return
	}
	c.l.sendARP(wire.ARPRequest, wire.Broadcast, a, wire.MAC{}, a)
}

// Held implements neigh.ClaimActions.
func (c claimActions) Held(a netip.Addr) {
	i := c.l.iface
	if !slices.Contains(i.claimed, a) { // LinkChanged claims those in use again
		i.claimed = append(i.claimed, a)
	}
	i.updateOwnAddrs()
	i.reportClaim(claimResult{addr: a})
}

// reportClaim reports a result to awaitClaims, which waits for those of New only, and to ClaimAddr.
func (i *iface) reportClaim(r claimResult) {
	select {
	case i.claimResults <- r:
	default:
	}
	if c := i.awaited[r.addr]; c != nil {
		delete(i.awaited, r.addr)
		c <- r
	}
}

// updateOwnAddrs makes the claimed addresses the ones in use, in the order of Config.Addrs.
func (i *iface) updateOwnAddrs() {
	i.neigh.Addrs = slices.DeleteFunc(slices.Clone(i.claimed), netip.Addr.Is6)
	own := newAddresses(slices.DeleteFunc(slices.Clone(i.configured()), func(p netip.Prefix) bool { return !slices.Contains(i.claimed, i.zoned(p.Addr())) }), i.name)
	own.deprecated, own.temporary = i.deprecated, i.temporary
	i.ownAddrs.Store(own)
}

// Conflict implements neigh.ClaimActions.
func (c claimActions) Conflict(a netip.Addr, by wire.MAC) { c.report(Conflict{Addr: a, By: by}) }

// Lost implements neigh.ClaimActions.
func (c claimActions) Lost(a netip.Addr, by wire.MAC) {
	i := c.l.iface
	if i.auto.host != nil {
		i.auto.host.Duplicate(a, ndp.Time(i.s.now()))
		i.auto.pending = true
	}
	if !slices.Contains(i.claimed, a) {
		if !i.linkLocal.isReplaced(a) { // otherwise the claim to the next one is reported
			i.reportClaim(claimResult{a, by, true})
		}
		c.report(Conflict{a, by, true})
		return
	}
	i.claimed = slices.DeleteFunc(i.claimed, func(b netip.Addr) bool { return a == b })
	i.updateOwnAddrs()
	c.report(Conflict{a, by, true})
}

// maxPendingConflicts limits the conflicts that wait to be reported. Lost addresses always fit.
const maxPendingConflicts = 64

func (c claimActions) report(conflict Conflict) {
	if i := c.l.iface; conflict.Lost || len(i.pendingConflicts) < maxPendingConflicts {
		i.pendingConflicts = append(i.pendingConflicts, conflict)
		c.l.requestCheck()
	}
}

// reportConflicts calls Config.OnConflict and resets the connections of lost addresses. No lock is
// held.
func (l *reader) reportConflicts(now tcp.Time) {
	i := l.iface
	i.mu.Lock()
	all := i.pendingConflicts
	i.pendingConflicts = nil
	i.mu.Unlock()
	for _, c := range all {
		if c.Lost {
			for _, conn := range l.s.conns.all() {
				if conn.key.local.Addr() == c.Addr {
					conn.abortLost(now)
				}
			}
			i.replaceLinkLocal(c.Addr)
		}
		if tell := l.s.cfg.OnConflict; tell != nil {
			tell(c)
		}
		if c.Lost {
			l.s.watchers.call()
		}
	}
}

// abortLost resets a connection whose address another host has taken (RFC 5227, section 2.4: reset
// active connections before giving the address up), or whose link has closed.
func (c *Conn) abortLost(now tcp.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.addrOrLinkLost = true
	c.tcp.Abort(now)
	c.flushLocked(now)
}

// sendARP sends an ARP message.
func (l *reader) sendARP(op wire.ARPOperation, to wire.MAC, sender netip.Addr, targetMAC wire.MAC, target netip.Addr) {
	own := l.iface.caps.MAC
	b := wire.AppendEthernet(make([]byte, 0, 64), to, own, wire.TypeARP)
	l.queue.Write(&link.Parts{Head: wire.AppendARP(b, op, own, sender, targetMAC, target)})
}
