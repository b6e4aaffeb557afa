package proxy

import (
	"fmt"
	"hash/fnv"
	"net/http"
	"strings"

	"weir/web"
)

// policies select one of some candidates, at least one. They are called with the pool's lock held.
var policies = map[string]func(*pool, []*upstream, string) *upstream{
	"":                  roundRobin,
	"round robin":       roundRobin,
	"least connections": leastConnections,
	"hash":              rendezvous,
}

func parsePolicy(name string) (func(*pool, []*upstream, string) *upstream, error) {
	if choose := policies[name]; choose != nil {
		return choose, nil
	}
	return nil, fmt.Errorf("proxy: policy is %q, which is unknown: write \"round robin\", \"least connections\" or \"hash\"", name)
}

func roundRobin(p *pool, among []*upstream, _ string) *upstream {
	u := among[p.turn%uint64(len(among))]
	p.turn++
	return u
}

// leastConnections takes turns among upstreams with equally few exchanges.
func leastConnections(p *pool, among []*upstream, _ string) *upstream {
	var least *upstream
	for i := range among {
		u := among[(p.turn+uint64(i))%uint64(len(among))]
		if least == nil || u.reading.Active < least.reading.Active {
			least = u
		}
	}
	p.turn++
	return least
}

// rendezvous gives each pair of key and upstream a weight, and takes the upstream with the largest
// (Thaler and Ravishankar, 1998).
func rendezvous(_ *pool, among []*upstream, key string) *upstream {
	var best *upstream
	var heaviest uint64
	for _, u := range among {
		if w := weight(u.reading.Name, key); best == nil || w > heaviest {
			best, heaviest = u, w
		}
	}
	return best
}

// weight is the same in every process: FNV-1a with a finalizer that mixes its last bits into all
// others.
func weight(name, key string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	_, _ = h.Write([]byte{0})
	_, _ = h.Write([]byte(key))
	x := h.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// keyFunc returns the input of the hash for an exchange, or "" if it has none.
type keyFunc func(*web.Conn) string

// parseHashBy returns nil for other policies than hash.
func parseHashBy(policy, by string) (keyFunc, error) {
	if policy != "hash" {
		if by != "" {
			return nil, fmt.Errorf("proxy: hash_by is %q, but the policy is not \"hash\": remove hash_by or set policy to \"hash\"", by)
		}
		return nil, nil
	}
	kind, name, _ := strings.Cut(by, " ")
	name = strings.TrimSpace(name)
	switch {
	case by == "" || by == "address":
		return func(*web.Conn) string { return "" }, nil
	case kind == "header" && name != "":
		return func(c *web.Conn) string { return c.RequestHeader(name) }, nil
	case kind == "cookie" && name != "":
		return func(c *web.Conn) string { return cookieValue(c.HTTPRequest(), name) }, nil
	}
	return nil, fmt.Errorf("proxy: hash_by is %q: write \"address\", \"header NAME\" or \"cookie NAME\"", by)
}

func cookieValue(r *http.Request, name string) string {
	c, err := r.Cookie(name)
	if err != nil {
		return ""
	}
	return c.Value
}
