package client

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
)

// TrustedProxies are the networks of proxies and load balancers whose forwarding fields are
// believed.
type TrustedProxies []netip.Prefix

// ParseTrustedProxies parses addresses and prefixes, such as "10.0.0.0/8".
func ParseTrustedProxies(texts []string) (TrustedProxies, error) {
	var f TrustedProxies
	for _, text := range texts {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			a, isAddr := netip.ParseAddr(text)
			if isAddr != nil {
				return nil, fmt.Errorf("trusted has %q, which is neither an address nor a prefix: write one such as \"10.0.0.0/8\"", text)
			}
			p = netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen())
		}
		f = append(f, p.Masked())
	}
	return f, nil
}

// Contains reports whether an address belongs to a trusted proxy.
func (f TrustedProxies) Contains(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	for _, p := range f {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// Client returns the address of the client of a connection from peer. If peer is a trusted proxy,
// that is the last address in X-Forwarded-For that is not a trusted proxy's, or the last one that
// can be parsed; otherwise it is peer.
func (f TrustedProxies) Client(peer netip.Addr, forwardedFor []string) netip.Addr {
	if !f.Contains(peer) {
		return peer
	}
	hops := strings.Split(strings.Join(forwardedFor, ","), ",")
	for i := len(hops) - 1; i >= 0 && f.Contains(peer); i-- {
		hop, ok := Parse(strings.TrimSpace(hops[i]))
		if !ok {
			break
		}
		peer = hop
	}
	return peer
}

type proxyAddrKey struct{}

// WithProxyAddr stores the address of the trusted proxy that forwarded a request, with its port, in
// the request's context.
func WithProxyAddr(ctx context.Context, address string) context.Context {
	return context.WithValue(ctx, proxyAddrKey{}, address)
}

// ProxyAddr returns the address of the trusted proxy that forwarded the request of this context, or
// "".
func ProxyAddr(ctx context.Context) string {
	s, _ := ctx.Value(proxyAddrKey{}).(string)
	return s
}
