package cache

import (
	"fmt"
	"hash/maphash"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"weir/web"
	"weir/web/components/internal/memory"
	"weir/web/components/internal/unit"
)

// Config says how much is kept. Its zero value is a good one.
type Config struct {
	// Memory is how much memory what is kept takes at most, such as "256MB". Empty: "64MB".
	Memory string `hcl:"memory,optional"`

	// Largest is the size of the largest body that is kept. Empty: "1MB".
	Largest string `hcl:"largest,optional"`

	// Heuristic keeps responses that do not say how long they are fresh, but when they were
	// modified, for a tenth of their age, a day at most.
	Heuristic bool `hcl:"heuristic,optional"`
}

// cache is what the two ends of the part have in common.
type cache struct {
	largest   int64
	heuristic bool
	now       func() time.Time
	store     *memory.Store[key, resource]
	put       sync.Mutex // held from reading what is under a key to changing it
	seed      maphash.Seed

	// let counts, for a part of the keys each, how often something was let go of because it may
	// have changed: what was asked for before that is not kept after it.
	let [64]atomic.Uint32
}

// Cache is what is kept, with the rules for it.
type Cache struct{ cache *cache }

// New makes an empty cache.
func New(cfg Config) (*Cache, error) {
	k, err := newCache(cfg)
	return &Cache{k}, err
}

// Around is inner with the cache around it. What was kept of another inner is an answer of this one
// too: so it must be one that answers alike.
func (c *Cache) Around(inner web.Component) web.Component { return c.cache.around(inner) }

// Around is inner with an empty cache around it.
func Around(cfg Config, inner web.Component) (web.Component, error) {
	k, err := newCache(cfg)
	if err != nil {
		return nil, err
	}
	return k.around(inner), nil
}

func newCache(cfg Config) (*cache, error) {
	k := &cache{heuristic: cfg.Heuristic, now: time.Now, seed: maphash.MakeSeed()}
	limit, err := unit.Size("memory", cfg.Memory, 64<<20)
	if err == nil {
		k.largest, err = unit.Size("largest", cfg.Largest, 1<<20)
	}
	if err != nil {
		return nil, fmt.Errorf("cache: %w", err)
	}
	k.store = memory.New[key, resource](limit)
	return k, nil
}

func (k *cache) around(inner web.Component) web.Component {
	return web.Branch("cache", k.choose, web.Chain(inner, web.Named("cache-keep", web.Pipe(k.keep))))
}

// The ways on from the cache.
const (
	through = iota // the part
	around         // it: the exchange has its answer
)

// asked is what the cache leaves with an exchange that goes through the part, for itself.
type asked struct {
	key     key
	method  string
	at      time.Time
	let     uint32
	header  http.Header         // of the request, as it was
	before  map[string][]string // fields of the response that earlier components set
	control control             // of the request
	keeps   bool                // the response may be kept, as far as the request goes
	user    string              // whom a component before the cache has let in

	personal string  // what a component before the cache has decided on
	stale    *stored // what the request asks again for
}

// choose looks for a response.
func (k *cache) choose(c *web.Conn) int {
	if c.Answered() {
		return around
	}
	m := c.Method()
	if m != http.MethodGet && m != http.MethodHead {
		return k.pass(c, "method", false, nil)
	}
	// the answer may be to what is in the body (RFC 9110 section 9.3.1 gives it no meaning,
	// programs do)
	if c.RequestBodySize() != 0 {
		return k.pass(c, "bypass", false, nil)
	}
	if c.RequestHeader("If-Match") != "" || c.RequestHeader("If-Unmodified-Since") != "" || c.RequestHeader("Upgrade") != "" {
		return k.pass(c, "bypass", false, nil)
	}
	request := requestControl(c)
	r, ok := k.store.Get(keyOf(c))
	s := r.match(c.RequestHeaders)
	now := k.now()
	if s != nil && s.serves(request, now) {
		s.answer(c, now)
		c.SetField(hit)
		return around
	}
	if request.onlyIfCached { // "a 504 (Gateway Timeout) response" (section 5.2.1.7)
		c.Reply(http.StatusGatewayTimeout)
		return around
	}
	if c.RequestHeader("Range") != "" {
		return k.pass(c, "bypass", false, nil)
	}
	switch {
	case s != nil && request.noCache:
		return k.pass(c, "request", true, s)
	case s != nil:
		return k.pass(c, "stale", true, s)
	case ok:
		return k.pass(c, "vary-miss", true, nil)
	}
	return k.pass(c, "uri-miss", true, nil)
}

var hit = web.NewField("Cache-Status", "weir; hit")

// requestControl is the request's Cache-Control, or what Pragma says in its place (section 5.4).
func requestControl(c *web.Conn) control {
	lines := c.RequestHeaders("Cache-Control")
	if lines == nil {
		lines = c.RequestHeaders("Pragma")
	}
	return parseControl(lines)
}

// serves says whether the response may be used for a request without asking (section 4).
func (s *stored) serves(request control, now time.Time) bool {
	age := s.ageAt(now)
	switch {
	case request.noCache, s.control.noCache:
		return false
	case request.maxAge >= 0 && age > request.maxAge:
		return false
	case request.minFresh >= 0 && s.life-age < request.minFresh:
		return false
	case age < s.life: // "response_is_fresh = (freshness_lifetime > current_age)" (section 4.2)
		return true
	case s.control.mustRevalidate, s.control.sMaxAge >= 0:
		// s-maxage "incorporates the semantics of proxy-revalidate" (section 5.2.2.10)
		return false
	case request.maxStale >= 0 && age-s.life <= request.maxStale:
		return true
	}
	return s.control.staleWhileRevalidating >= 0 && age-s.life <= s.control.staleWhileRevalidating && s.awaited(now)
}

// patience is how long an answer to a question about a stale response is waited for before another
// request asks.
const patience = 10 * time.Second

// awaited says whether another request is asking for the response again.
func (s *stored) awaited(now time.Time) bool {
	return now.UnixNano()-s.updating.Load() < int64(patience)
}

// pass sends an exchange through the part. With a stale response it asks for that by its
// validators, otherwise, if what comes may be kept, for the whole: the core holds it against the
// client's own conditions.
func (k *cache) pass(c *web.Conn, why string, keeps bool, stale *stored) int {
	a := &asked{key: keyOf(c), method: c.Method(), at: k.now(), control: requestControl(c), before: map[string][]string{}}
	a.let = k.counter(a.key).Load()
	a.user, a.personal = c.StringValue(web.User), c.StringValue(web.Personal)
	c.SetHeader("Cache-Status", "weir; fwd="+why)
	for name, values := range c.Fields() {
		a.before[name] = values
	}
	a.keeps = keeps && a.method == http.MethodGet && !a.control.noStore
	if a.keeps {
		a.header = c.HTTPRequest().Header.Clone()
		k.ask(c, a, stale)
	}
	c.SetValue(k, a)
	return through
}

// ask changes the conditions of the request to the cache's own.
func (k *cache) ask(c *web.Conn, a *asked, stale *stored) {
	for _, name := range [...]string{"If-None-Match", "If-Modified-Since"} {
		if c.RequestHeader(name) != "" {
			c.DelRequestHeader(name)
		}
	}
	if stale == nil || !stale.validator() {
		return
	}
	a.stale = stale
	stale.updating.Store(a.at.UnixNano())
	if tag := stale.header.Get("Etag"); tag != "" {
		c.SetRequestHeader("If-None-Match", tag)
	}
	if modified := stale.header.Get("Last-Modified"); modified != "" {
		c.SetRequestHeader("If-Modified-Since", modified)
	}
}

func (k *cache) counter(of key) *atomic.Uint32 {
	return &k.let[maphash.Comparable(k.seed, of)%uint64(len(k.let))]
}
