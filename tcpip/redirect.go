package tcpip

import (
	"net/netip"
	"time"

	"weir/tcpip/neigh"
	"weir/tcpip/tcp"
	"weir/wire"
)

// Limits of redirects: any host on the link can forge them, as it can forge advertisements.
const (
	maxRedirects     = 64 // on an interface; another one evicts the oldest
	redirectLifetime = 10 * time.Minute
)

// redirect is a better first hop for a destination.
type redirect struct {
	dst    netip.Addr
	via    netip.Addr // the router of the route: another route makes the redirect void
	target netip.Addr
	until  tcp.Time
}

// redirected returns the first hop for a destination whose route is by hop.
func (i *iface) redirected(dst, hop netip.Addr) netip.Addr {
	if all := i.redirects.Load(); all != nil {
		for n := range *all {
			if r := &(*all)[n]; r.dst == dst && r.via == hop {
				return r.target
			}
		}
	}
	return hop
}

// redirect follows a redirect (RFC 4861, section 8.3), on links that are configured by routers. It
// must come from the router that packets to the destination go to now (section 8.1).
func (p *packet) redirect(m wire.ICMPv6) layer {
	i := p.reader.iface
	r, fault := wire.ParseRedirect(m)
	if fault != wire.OK || !p.src.IsLinkLocalUnicast() {
		return p.drop(DropNDP)
	}
	if i.auto.host == nil || i.s.cfg.IgnoreRedirects || i.s.forwarding.Load() != nil || !i.resolvesNeighbours() {
		return consumed
	}
	dst, target := i.zoned(r.Dst), i.zoned(r.Target)
	via, ok := i.routedHop(dst)
	if !ok || i.redirected(dst, via) != p.src || i.s.owns(target) || target.IsLoopback() || target.IsUnspecified() {
		return p.drop(DropNDP)
	}
	mac, hasMAC := r.Options.LinkAddr(wire.TargetLinkAddr)
	i.mu.Lock()
	defer i.mu.Unlock()
	if hasMAC {
		i.neigh.ReceiveLinkAddr(target, mac, true, neigh.Time(p.now), neighActions{p.reader})
	}
	i.addRedirectLocked(redirect{dst, via, target, p.now.Add(redirectLifetime)})
	p.reader.requestCheck()
	return consumed
}

// addRedirectLocked adds a redirect, in the place of the last one for its destination. The caller
// holds mu.
func (i *iface) addRedirectLocked(new redirect) {
	left := i.keptRedirectsLocked(func(r *redirect) bool { return r.dst != new.dst })
	if len(left) >= maxRedirects {
		left = left[1:] // the oldest one
	}
	i.storeRedirectsLocked(append(left, new))
}

// keptRedirectsLocked returns the redirects that a function selects, in their order. The slice is
// the caller's. The caller holds mu.
func (i *iface) keptRedirectsLocked(keep func(*redirect) bool) (kept []redirect) {
	if all := i.redirects.Load(); all != nil {
		for n := range *all {
			if r := &(*all)[n]; keep(r) {
				kept = append(kept, *r)
			}
		}
	}
	return kept
}

// storeRedirectsLocked replaces the redirects, and has connections look their first hop up again.
// The caller holds mu.
func (i *iface) storeRedirectsLocked(all []redirect) {
	i.redirects.Store(&all)
	i.neigh.Changes++
	i.neighChanges.Store(i.neigh.Changes)
}

// keepRedirectsLocked removes the redirects that a function does not select. The caller holds mu.
func (i *iface) keepRedirectsLocked(keep func(*redirect) bool) {
	if all := i.redirects.Load(); all != nil {
		if kept := i.keptRedirectsLocked(keep); len(kept) != len(*all) {
			i.storeRedirectsLocked(kept)
		}
	}
}

// tickRedirectsLocked removes redirects that are over or whose target does not answer. It returns
// when it must run again; 0: no timer. The caller holds mu.
func (i *iface) tickRedirectsLocked(now tcp.Time) (next tcp.Time) {
	i.keepRedirectsLocked(func(r *redirect) bool {
		s, ok := i.neigh.StateOf(r.target)
		if r.until <= now || ok && s == neigh.Failed {
			return false
		}
		if next == 0 || r.until < next {
			next = r.until
		}
		return true
	})
	return next
}
