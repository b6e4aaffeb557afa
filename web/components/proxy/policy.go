package proxy

import (
	"fmt"
	"hash/fnv"
	"math"
	"net/http"
	"strings"

	"weir/web"
)

// candidate is an upstream that may be selected, with its weight, at least 1.
type candidate struct {
	*upstream
	weight int
}

// policy selects one of some candidates, at least one. It may change their order. The key is the
// input of the hash. The caller holds the pool's lock.
type policy func(among []candidate, key string) *upstream

var policies = map[string]policy{
	"":                  roundRobin,
	"round robin":       roundRobin,
	"least connections": leastConnections,
	"hash":              rendezvous,
}

func parsePolicy(name string) (policy, error) {
	if choose := policies[name]; choose != nil {
		return choose, nil
	}
	return nil, fmt.Errorf("proxy: policy is %q, which is unknown: write \"round robin\", \"least connections\" or \"hash\"", name)
}

// roundRobin takes turns in proportion to the weights, and spreads the turns of each upstream: the
// smooth weighted round robin of nginx. Each candidate earns its weight. The richest is selected
// and pays what all have earned, so credits stay within the sum of the weights.
func roundRobin(among []candidate, _ string) *upstream {
	var richest *upstream
	total := 0
	for _, u := range among {
		total += u.weight
		if u.credit += u.weight; richest == nil || u.credit > richest.credit {
			richest = u.upstream
		}
	}
	richest.credit -= total
	return richest
}

// leastConnections takes turns among the upstreams with the fewest exchanges per weight.
func leastConnections(among []candidate, key string) *upstream {
	least := among[:1]
	for _, u := range among[1:] {
		switch mine, others := u.reading.Active*least[0].weight, least[0].reading.Active*u.weight; {
		case mine < others:
			least = append(least[:0], u)
		case mine == others:
			least = append(least, u)
		}
	}
	return roundRobin(least, key)
}

// rendezvous gives each pair of key and upstream a score, and takes the upstream with the highest
// (Thaler and Ravishankar, 1998). The score is such that an upstream wins in proportion to its
// weight, and that a change of one weight moves only keys from or to that upstream.
func rendezvous(among []candidate, key string) *upstream {
	var best *upstream
	highest := math.Inf(-1)
	for _, u := range among {
		// A uniform number between 0 and 1, exclusive. With equal weights, the largest wins.
		uniform := (float64(hash(u.reading.Name, key)>>11) + 0.5) / (1 << 53)
		if score := -float64(u.weight) / math.Log(uniform); best == nil || score > highest {
			best, highest = u.upstream, score
		}
	}
	return best
}

// hash is the same in every process: FNV-1a with a finalizer that mixes its last bits into all
// others.
func hash(name, key string) uint64 {
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
