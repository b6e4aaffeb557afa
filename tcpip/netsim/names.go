package netsim

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// canonical is the form in which names are compared.
func canonical(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

// nameTaken returns an error if another host has the name, but for the case of letters, or if it is
// an address, which is never resolved.
func (w *World) nameTaken(name string) error {
	if _, err := netip.ParseAddr(name); err == nil {
		return fmt.Errorf("netsim: the name of the host %q is an address: give it a name, and the address by HostConfig.Addrs", name)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if other := w.names[canonical(name)]; other != nil {
		return fmt.Errorf("netsim: a host %q has the name of %q: give it another, since names are resolved without case", other.node.Name(), name)
	}
	return nil
}

// DualStack gives the hosts that are added from now on addresses of IPv6 too.
func (w *World) DualStack() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dualStack = true
}

func (w *World) isDualStack() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dualStack
}

// isLocalhost reports whether a name is that of the host itself (RFC 6761, section 6.3).
func isLocalhost(name string) bool {
	name = canonical(name)
	return name == "localhost" || strings.HasSuffix(name, ".localhost")
}

// lookup returns the addresses of a host. It takes no time and asks no server.
func (w *World) lookup(_ context.Context, name string) ([]netip.Addr, error) {
	w.mu.Lock()
	m := w.names[canonical(name)]
	w.mu.Unlock()
	if m == nil && isLocalhost(name) {
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}, nil
	}
	if m == nil {
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	var all []netip.Addr
	for _, p := range m.addrs {
		all = append(all, p.Addr())
	}
	return all, nil
}

// LookupHost is net.Resolver.LookupHost: it returns the addresses of a host by its name.
func (h *Host) LookupHost(ctx context.Context, name string) ([]string, error) {
	if a, err := netip.ParseAddr(name); err == nil {
		return []string{a.String()}, nil
	}
	addrs, err := h.m.w.lookup(ctx, name)
	var all []string
	for _, a := range addrs {
		all = append(all, a.String())
	}
	return all, err
}
