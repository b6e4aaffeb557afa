package tcpip

import (
	"net/netip"
	"slices"

	"weir/tcpip/ndp"
)

// linkLocalNet is the network of link-local addresses (RFC 4291, section 2.5.6).
var linkLocalNet = netip.MustParsePrefix("fe80::/64")

// linkLocal is the link-local address that the stack has made for an interface. It is guarded by
// iface.mu.
type linkLocal struct {
	addr  netip.Addr // with its zone; zero: none, as the program has configured one
	tries byte       // duplicates before it (DAD_Counter)
}

// maxLinkLocalTries is how many addresses are tried if other hosts have them (IDGEN_RETRIES: RFC
// 7217, section 7). A hostile host on the link can claim all: then there is none.
const maxLinkLocalTries = 3

// isReplaced reports whether another address replaces a, which is a duplicate.
func (l *linkLocal) isReplaced(a netip.Addr) bool {
	return a == l.addr && l.tries+1 < maxLinkLocalTries
}

// ensureLinkLocal adds a link-local address to the configured ones if there is none, and returns
// it.
func (i *iface) ensureLinkLocal() []netip.Prefix {
	if slices.ContainsFunc(i.configured(), func(a netip.Prefix) bool { return a.Addr().Is6() && a.Addr().IsLinkLocalUnicast() }) {
		return nil
	}
	return []netip.Prefix{i.addLinkLocal()}
}

// addLinkLocal adds a link-local address to the configured ones, and returns it.
func (i *iface) addLinkLocal() netip.Prefix {
	i.mu.Lock()
	own := ndp.StableAddr(linkLocalNet, i.name, i.linkLocal.tries, i.caps.MAC[:])
	i.linkLocal.addr = i.zoned(own)
	i.mu.Unlock()
	p := netip.PrefixFrom(own, 64)
	all := append(slices.Clone(i.configured()), p)
	i.addrs.Store(&all)
	i.ipv6.Store(true)
	return p
}

// replaceLinkLocal replaces the link-local address that the stack has made, if that is lost and
// another may be tried (RFC 4862, section 5.4.5; RFC 7217, section 6). No lock is held.
func (i *iface) replaceLinkLocal(lost netip.Addr) {
	i.s.configMu.Lock()
	defer i.s.configMu.Unlock()
	i.mu.Lock()
	replaced := i.linkLocal.isReplaced(lost) && i.isConfigured(lost)
	if replaced {
		i.linkLocal.tries++
	}
	i.mu.Unlock()
	if !replaced {
		return
	}
	i.removeConfiguredLocked(lost)
	i.claimAddrs([]netip.Prefix{i.addLinkLocal()})
}
