package tcpip

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"weir/tcpip/link"
	"weir/tcpip/neigh"
	"weir/tcpip/tcp"
	"weir/wire"
)

// Conflict says that somebody else uses an address of the stack's.
type Conflict struct {
	Addr netip.Addr
	By   wire.MAC
	// the address was given up: its connections are reset, and nothing is sent from it or taken for
	// it any more
	Lost bool
}

// claimed is what became of an address that was probed for.
type claimed struct {
	addr  netip.Addr
	by    wire.MAC // that has it
	taken bool
}

// watch begins to claim an interface's addresses. The reader does the rest.
func (i *iface) watch() {
	if i.local {
		i.own.Store(newAddresses(i.addrs))
		return
	}
	i.own.Store(newAddresses(nil))
	i.neigh.MAC, i.neigh.OnLink = i.caps.MAC, i.onLink
	i.claims = neigh.Claims{MAC: i.caps.MAC, Policy: i.s.cfg.Conflicts, Rand: rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))}
	i.outcome = make(chan claimed, len(i.addrs))
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, a := range i.addrs {
		i.claims.Begin(a.Addr(), i.s.cfg.Probe, neigh.Time(i.s.now()), claiming{i.lanes[0]})
	}
	i.lanes[0].look()
}

// claimTime is longer than probing takes.
const claimTime = 30 * time.Second

// claimed waits until all addresses that are probed for are the stack's, or one is not.
func (i *iface) claimed() error {
	timer := time.NewTimer(claimTime)
	defer timer.Stop()
	for range i.addrs {
		select {
		case c := <-i.outcome:
			if c.taken {
				return fmt.Errorf("tcpip: the address %v is taken: %v has it; give the stack another one, or that host", c.addr, c.by)
			}
		case <-timer.C:
			return fmt.Errorf("tcpip: the link does not carry the question whether somebody has %v", i.addrs[0].Addr())
		}
	}
	return nil
}

// claiming carries out what claims of addresses want. The interface's lock is held.
type claiming struct{ l *lane }

// Probe implements neigh.ClaimActions.
func (c claiming) Probe(a netip.Addr) {
	c.l.sendARP(wire.ARPRequest, wire.Broadcast, netip.IPv4Unspecified(), wire.MAC{}, a)
}

// Announce implements neigh.ClaimActions.
func (c claiming) Announce(a netip.Addr) {
	c.l.sendARP(wire.ARPRequest, wire.Broadcast, a, wire.MAC{}, a)
}

// Held implements neigh.ClaimActions.
func (c claiming) Held(a netip.Addr) {
	i := c.l.iface
	i.neigh.Addrs = append(i.neigh.Addrs, a)
	i.renew()
	i.outcome <- claimed{addr: a}
}

// renew has those of the addresses be used that are held, in the order in which they were given.
func (i *iface) renew() {
	i.own.Store(newAddresses(slices.DeleteFunc(slices.Clone(i.addrs), func(p netip.Prefix) bool { return !slices.Contains(i.neigh.Addrs, p.Addr()) })))
}

// Conflict implements neigh.ClaimActions.
func (c claiming) Conflict(a netip.Addr, by wire.MAC) { c.tell(Conflict{Addr: a, By: by}) }

// Lost implements neigh.ClaimActions.
func (c claiming) Lost(a netip.Addr, by wire.MAC) {
	i := c.l.iface
	if !slices.Contains(i.neigh.Addrs, a) {
		i.outcome <- claimed{a, by, true}
		return
	}
	i.neigh.Addrs = slices.DeleteFunc(i.neigh.Addrs, func(b netip.Addr) bool { return a == b })
	i.renew()
	c.tell(Conflict{a, by, true})
}

// conflictsMost is how many conflicts may wait to be told.
const conflictsMost = 64

func (c claiming) tell(conflict Conflict) {
	if i := c.l.iface; conflict.Lost || len(i.conflicts) < conflictsMost {
		i.conflicts = append(i.conflicts, conflict)
		c.l.look()
	}
}

// conflicts tells of conflicts, and ends what runs over addresses that were lost. No lock is held.
func (l *lane) conflicts(now tcp.Time) {
	i := l.iface
	i.mu.Lock()
	all := i.conflicts
	i.conflicts = nil
	i.mu.Unlock()
	for _, c := range all {
		if c.Lost {
			for _, conn := range l.s.conns.all() {
				if conn.key.local.Addr() == c.Addr {
					conn.lose(now)
				}
			}
		}
		if tell := l.s.cfg.OnConflict; tell != nil {
			tell(c)
		}
	}
}

// lose resets a connection whose address is another's (RFC 5227, section 2.4: that of the host
// should be reset before it ends), or whose link is gone.
func (c *Conn) lose(now tcp.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost = true
	c.tcp.Abort(now)
	c.flush(now)
}

// sendARP sends a message.
func (l *lane) sendARP(op wire.ARPOperation, to wire.MAC, sender netip.Addr, targetMAC wire.MAC, target netip.Addr) {
	own := l.iface.caps.MAC
	b := wire.AppendEthernet(make([]byte, 0, 64), to, own, wire.TypeARP)
	l.q.Write(&link.Parts{Head: wire.AppendARP(b, op, own, sender, targetMAC, target)})
}
