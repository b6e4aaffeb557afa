package client

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
)

// Fronts are the networks of trusted fronts: proxies and load balancers whose word on where a
// request came from counts.
type Fronts []netip.Prefix

// ReadFronts reads addresses and prefixes, such as "10.0.0.0/8".
func ReadFronts(texts []string) (Fronts, error) {
	var f Fronts
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

// Has reports whether an address is a trusted front's.
func (f Fronts) Has(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	for _, p := range f {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// Client is the address of the client of a connection from peer: the last one in X-Forwarded-For
// that is no trusted front's, or the last that can be read, when peer is a trusted front; otherwise
// peer.
func (f Fronts) Client(peer netip.Addr, forwardedFor []string) netip.Addr {
	if !f.Has(peer) {
		return peer
	}
	hops := strings.Split(strings.Join(forwardedFor, ","), ",")
	for i := len(hops) - 1; i >= 0 && f.Has(peer); i-- {
		hop, ok := Parse(strings.TrimSpace(hops[i]))
		if !ok {
			break
		}
		peer = hop
	}
	return peer
}

type peer struct{}

// WithPeer gives the context of a request that a trusted front passed on the address of that front,
// with its port.
func WithPeer(ctx context.Context, address string) context.Context {
	return context.WithValue(ctx, peer{}, address)
}

// Peer is the address of the trusted front that passed the request of this context on; "" when none
// did.
func Peer(ctx context.Context) string {
	s, _ := ctx.Value(peer{}).(string)
	return s
}
