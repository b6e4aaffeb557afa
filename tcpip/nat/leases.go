package nat

import (
	"encoding/binary"
	"net/netip"
	"sync"
	"time"
)

// The times of leases. A host may ask for less.
const (
	leaseTime    = 24 * time.Hour
	minLeaseTime = 10 * time.Second
	// shortLeaseTime is the time of a lease when more than half of the addresses are given, so that
	// those of hosts that have left, or never were, end soon.
	shortLeaseTime = 10 * time.Minute
	// offerTime is how long an offered address is kept for its host.
	offerTime = time.Minute
	// declinedTime is how long an address is not given that a host has found in use.
	declinedTime = 10 * time.Minute
)

// leases are the addresses that DHCP has given, by hardware address. A host gets the same one
// again.
type leases struct {
	mu    sync.Mutex
	byMAC map[string]lease
}

// leaseState is what a host has of an address (RFC 2131, section 4.3).
type leaseState uint8

const (
	offered  leaseState = iota // it was offered, or the lease has ended
	declined                   // another host uses it
	bound                      // a host has the lease
)

type lease struct {
	addr  netip.Addr
	ends  time.Time
	state leaseState
}

// maxLeases is the number of addresses that are given at most: a host can claim to be many.
const maxLeases = 1000

// pool are the addresses to give: those from first on of a network in which the gateway has own.
type pool struct {
	first   netip.Addr
	network netip.Prefix
	own     netip.Addr
}

// contains reports whether an address may be given.
func (p *pool) contains(a netip.Addr) bool {
	return p.network.Contains(a) && !a.Less(p.first) && a != p.own && a != broadcastOf(p.network)
}

// size returns how many addresses may be given at once.
func (p *pool) size() int {
	first, last := p.first.As4(), broadcastOf(p.network).As4()
	return int(min(maxLeases, binary.BigEndian.Uint32(last[:])-binary.BigEndian.Uint32(first[:])))
}

// offer returns the address that a host is offered; the zero Addr: all are leased. A lease of the
// host stays as it is.
func (l *leases) offer(mac string, p pool, now time.Time) netip.Addr {
	l.mu.Lock()
	defer l.mu.Unlock()
	known, ok := l.byMAC[mac]
	if !ok {
		known.addr = l.freeLocked(p, now)
	}
	if known.addr.IsValid() && (known.state != bound || now.After(known.ends)) {
		l.setLocked(mac, lease{known.addr, now.Add(offerTime), offered})
	}
	return known.addr
}

// bind leases an address to a host until ends, and reports whether it may have it: it is its own
// one, or the host has none and no other host has a lease of it.
func (l *leases) bind(mac string, a netip.Addr, p pool, now, ends time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known, ok := l.byMAC[mac]; ok && known.addr != a || !ok && !p.contains(a) {
		return false
	}
	for other, given := range l.byMAC {
		switch {
		case given.addr != a || other == mac:
		case given.state != offered && !now.After(given.ends):
			return false
		default:
			delete(l.byMAC, other)
		}
	}
	if _, ok := l.byMAC[mac]; !ok && !l.makeRoomLocked(now) {
		return false
	}
	l.setLocked(mac, lease{a, ends, bound})
	return true
}

func (l *leases) setLocked(mac string, new lease) {
	if l.byMAC == nil {
		l.byMAC = map[string]lease{}
	}
	l.byMAC[mac] = new
}

// freeLocked returns an address that no host has, or else the one that was offered or declined the
// longest ago; the zero Addr: all are leased. The caller holds mu.
func (l *leases) freeLocked(p pool, now time.Time) netip.Addr {
	if !l.makeRoomLocked(now) {
		return netip.Addr{}
	}
	taken := map[netip.Addr]bool{}
	for _, given := range l.byMAC {
		taken[given.addr] = true
	}
	for a := p.first; p.network.Contains(a); a = a.Next() {
		if !taken[a] && p.contains(a) {
			return a
		}
	}
	if mac, given := l.oldestLocked(); mac != "" {
		delete(l.byMAC, mac)
		return given.addr
	}
	return netip.Addr{}
}

// makeRoomLocked forgets what has ended, and reports whether there is room for another lease. The
// caller holds mu.
func (l *leases) makeRoomLocked(now time.Time) bool {
	for mac, given := range l.byMAC {
		if now.After(given.ends) {
			delete(l.byMAC, mac)
		}
	}
	if len(l.byMAC) >= maxLeases {
		mac, _ := l.oldestLocked()
		delete(l.byMAC, mac)
	}
	return len(l.byMAC) < maxLeases
}

// oldestLocked returns the offer that ends first, or without any the declined address that does;
// "": there is neither. The caller holds mu.
func (l *leases) oldestLocked() (mac string, oldest lease) {
	for other, given := range l.byMAC {
		if given.state != bound && (mac == "" || given.state < oldest.state || given.state == oldest.state && given.ends.Before(oldest.ends)) {
			mac, oldest = other, given
		}
	}
	return mac, oldest
}

// duration returns how long a lease lasts for which a host has asked for a time.
func (l *leases) duration(mac string, asked time.Duration, p pool, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	others, most := 0, leaseTime
	for other, given := range l.byMAC {
		if other != mac && given.state == bound && !now.After(given.ends) {
			others++
		}
	}
	if others >= p.size()/2 {
		most = shortLeaseTime
	}
	return max(min(asked, most), minLeaseTime)
}

// release ends the lease of a host, which gets the same address again if no other host has it.
func (l *leases) release(mac string, a netip.Addr, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known, ok := l.byMAC[mac]; ok && known.addr == a {
		l.byMAC[mac] = lease{a, now, offered}
	}
}

// decline keeps an address from being given for a while: its host has found that another one uses
// it.
func (l *leases) decline(mac string, a netip.Addr, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known, ok := l.byMAC[mac]; ok && known.addr == a {
		delete(l.byMAC, mac)
		l.byMAC["declined "+a.String()] = lease{a, now.Add(declinedTime), declined}
	}
}

// broadcastOf returns the last address of a network.
func broadcastOf(p netip.Prefix) netip.Addr {
	b := p.Masked().Addr().As4()
	w := binary.BigEndian.Uint32(b[:]) | (1<<(32-p.Bits()) - 1)
	return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, w)))
}
