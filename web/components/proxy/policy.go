package proxy

import (
	"fmt"
	"hash/fnv"
	"net/http"
	"strings"

	"weir/web"
)

// The policies choose one of some candidates, at least one, holding the pool's lock.
var policies = map[string]func(*pool, []*upstream, string) *upstream{
	"":                  roundRobin,
	"round robin":       roundRobin,
	"least connections": leastConnections,
	"hash":              rendezvous,
}

func readPolicy(name string) (func(*pool, []*upstream, string) *upstream, error) {
	if choose := policies[name]; choose != nil {
		return choose, nil
	}
	return nil, fmt.Errorf("proxy: policy is %q, which is none: write \"round robin\", \"least connections\" or \"hash\"", name)
}

func roundRobin(p *pool, among []*upstream, _ string) *upstream {
	u := among[p.turn%uint64(len(among))]
	p.turn++
	return u
}

// leastConnections takes those with equally few in turn.
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

// rendezvous gives each pair of key and upstream a weight, and takes the heaviest (Thaler and
// Ravishankar, 1998).
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

// weight is the same in every process: FNV-1a, whose last bits are then spread over all of the
// number.
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

// keyOf gives what the hash is of, "" when the exchange has none.
type keyOf func(*web.Conn) string

// readHashBy gives nil where there is no hash.
func readHashBy(policy, by string) (keyOf, error) {
	if policy != "hash" {
		if by != "" {
			return nil, fmt.Errorf("proxy: hash_by is %q, but the policy is not \"hash\": take one out", by)
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
		return func(c *web.Conn) string { return cookie(c.HTTPRequest(), name) }, nil
	}
	return nil, fmt.Errorf("proxy: hash_by is %q: write \"address\", \"header NAME\" or \"cookie NAME\"", by)
}

func cookie(r *http.Request, name string) string {
	c, err := r.Cookie(name)
	if err != nil {
		return ""
	}
	return c.Value
}
