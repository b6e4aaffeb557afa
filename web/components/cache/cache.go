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

// Config limits a cache. The zero value is usable.
type Config struct {
	// Memory is the most memory that stored responses use, such as "256MB". Empty: "64MB".
	Memory string `hcl:"memory,optional"`

	// Largest is the size of the largest body that is stored. Empty: "1MB".
	Largest string `hcl:"largest,optional"`

	// Heuristic also stores responses that have a Last-Modified but no lifetime. Their lifetime is
	// a tenth of their age, at most a day (RFC 9111, section 4.2.2).
	Heuristic bool `hcl:"heuristic,optional"`
}

// cache is the state that the stages before and after the inner component share.
type cache struct {
	maxBody   int64
	heuristic bool
	now       func() time.Time
	store     *memory.Store[cacheKey, variants]
	storeMu   sync.Mutex // held from reading a key's responses to changing them
	seed      maphash.Seed

	// invalidations counts, for each hash of a key, how often a key was invalidated. A response is
	// not stored when the count has changed since its request was forwarded: it may be outdated.
	invalidations [64]atomic.Uint32
}

// Cache is a cache that several compositions can use in turn, such as those of a site that is
// reloaded.
type Cache struct{ cache *cache }

// New returns an empty cache.
func New(cfg Config) (*Cache, error) {
	k, err := newCache(cfg)
	return &Cache{k}, err
}

// Around returns inner with the cache around it. Responses of a former inner component answer
// requests for this one too, so both must answer alike.
func (c *Cache) Around(inner web.Component) web.Component { return c.cache.around(inner) }

// Around returns inner with an empty cache around it.
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
		k.maxBody, err = unit.Size("largest", cfg.Largest, 1<<20)
	}
	if err != nil {
		return nil, fmt.Errorf("cache: %w", err)
	}
	k.store = memory.New[cacheKey, variants](limit)
	return k, nil
}

func (k *cache) around(inner web.Component) web.Component {
	c := web.Branch("cache", k.lookUp, web.Chain(inner, web.Named("cache-keep", web.Pipe(k.handleResponse))))
	return web.WithTraits(c, web.Traits{InProcess: "responses"})
}

// The arms of the branch before the inner component.
const (
	innerArm = iota // to the inner component
	doneArm         // past it: the exchange has its answer
)

// requestMode says what the cache does with the response to a request that it forwards.
type requestMode uint8

const (
	// passOnly: nothing; the request does not allow the response to be stored.
	passOnly requestMode = iota
	// unsafe: a response that is no error invalidates the target (RFC 9111, section 4.4).
	unsafe
	// storing: the response is stored if it allows that (section 3).
	storing
	// revalidating: as storing; and 304 freshens the stale response (section 4.3.3).
	revalidating
)

// forwardedRequest is what the cache remembers of a request that it forwards.
type forwardedRequest struct {
	key               cacheKey
	mode              requestMode
	forwardedAt       time.Time           // when the request was forwarded
	invalidationCount uint32              // the count of invalidations at that time
	header            http.Header         // of the request; nil unless storing or revalidating
	fieldsBefore      map[string][]string // response fields of components before the cache
	control           cacheControl        // Cache-Control of the request

	// The user whom components before the cache have logged in, and their other decisions on the
	// client: see [web.User] and [web.Personal].
	user, personal string

	stale *storedResponse // the response to freshen; nil unless revalidating
}

// lookUp answers from the cache or prepares the request to be forwarded. It returns the arm.
func (k *cache) lookUp(c *web.Conn) int {
	if c.Answered() {
		return doneArm
	}
	m := c.Method()
	if m != http.MethodGet && m != http.MethodHead {
		return k.forward(c, "method", modeOf(m), nil)
	}
	// A program may use the body of a GET, although RFC 9110, section 9.3.1, gives it none.
	if c.RequestBodySize() != 0 {
		return k.forward(c, "bypass", passOnly, nil)
	}
	if c.RequestHeader("If-Match") != "" || c.RequestHeader("If-Unmodified-Since") != "" || c.RequestHeader("Upgrade") != "" {
		return k.forward(c, "bypass", passOnly, nil)
	}
	request := requestControl(c)
	r, ok := k.store.Get(keyOf(c))
	s := r.match(c.RequestHeaders)
	now := k.now()
	if s != nil && s.usability(request, now) != needsValidation {
		s.answer(c, now)
		c.SetField(hitStatus)
		return doneArm
	}
	if request.onlyIfCached { // "a 504 (Gateway Timeout) response" (section 5.2.1.7)
		c.Reply(http.StatusGatewayTimeout)
		return doneArm
	}
	if c.RequestHeader("Range") != "" {
		return k.forward(c, "bypass", passOnly, nil)
	}
	switch {
	case s != nil && request.noCache:
		return k.forward(c, "request", storing, s)
	case s != nil:
		return k.forward(c, "stale", storing, s)
	case ok:
		return k.forward(c, "vary-miss", storing, nil)
	}
	return k.forward(c, "uri-miss", storing, nil)
}

// modeOf returns the mode for a method other than GET and HEAD (RFC 9110, section 9.2.1).
func modeOf(method string) requestMode {
	if method == http.MethodOptions || method == http.MethodTrace {
		return passOnly
	}
	return unsafe
}

var hitStatus = web.NewField("Cache-Status", "weir; hit")

// requestControl returns the request's Cache-Control, or Pragma if there is none (section 5.4).
func requestControl(c *web.Conn) cacheControl {
	lines := c.RequestHeaders("Cache-Control")
	if lines == nil {
		lines = c.RequestHeaders("Pragma")
	}
	return parseControl(lines)
}

// usability is what a stored response may be used for (RFC 9111, section 4).
type usability uint8

const (
	// needsValidation: the response must be revalidated before it is used (section 4.3).
	needsValidation usability = iota
	// fresh: the response's age is less than its lifetime (section 4.2).
	fresh
	// acceptedStale: the request accepts a response this stale: max-stale (section 5.2.1.2).
	acceptedStale
	// staleWhileRevalidate: another request revalidates the response (RFC 5861, section 3).
	staleWhileRevalidate
)

// usability returns the state of the response at this time, for a request with these directives.
func (s *storedResponse) usability(request cacheControl, now time.Time) usability {
	age := s.currentAge(now)
	switch {
	case request.noCache, s.control.noCache:
		return needsValidation
	case request.maxAge >= 0 && age > request.maxAge:
		return needsValidation
	case request.minFresh >= 0 && s.lifetime-age < request.minFresh:
		return needsValidation
	case age < s.lifetime: // "response_is_fresh = (freshness_lifetime > current_age)" (section 4.2)
		return fresh
	case s.control.mustRevalidate, s.control.sMaxAge >= 0:
		// s-maxage "incorporates the semantics of proxy-revalidate" (section 5.2.2.10)
		return needsValidation
	case request.maxStale >= 0 && age-s.lifetime <= request.maxStale:
		return acceptedStale
	case s.control.staleWhileRevalidate >= 0 && age-s.lifetime <= s.control.staleWhileRevalidate && s.isRevalidating(now):
		return staleWhileRevalidate
	}
	return needsValidation
}

// revalidationTimeout is how long a revalidation may take before another request starts one.
const revalidationTimeout = 10 * time.Second

// isRevalidating reports whether another request is revalidating the response.
func (s *storedResponse) isRevalidating(now time.Time) bool {
	return now.UnixNano()-s.revalidationStart.Load() < int64(revalidationTimeout)
}

// pass forwards an exchange to the inner component. With a stale response in mode storing, the
// request becomes a revalidation if that has a validator. Otherwise a request whose response may be
// stored asks for the whole resource: the core evaluates the client's own conditions.
func (k *cache) forward(c *web.Conn, reason string, mode requestMode, stale *storedResponse) int {
	a := &forwardedRequest{key: keyOf(c), mode: mode, forwardedAt: k.now(), control: requestControl(c), fieldsBefore: map[string][]string{}}
	a.invalidationCount = k.invalidationCount(a.key).Load()
	a.user, a.personal = c.StringValue(web.User), c.StringValue(web.Personal)
	c.SetHeader("Cache-Status", "weir; fwd="+reason)
	for name, values := range c.Fields() {
		a.fieldsBefore[name] = values
	}
	if mode == storing && (c.Method() != http.MethodGet || a.control.noStore) {
		a.mode = passOnly
	}
	if a.mode == storing {
		a.header = c.HTTPRequest().Header.Clone()
		k.setConditions(c, a, stale)
	}
	c.SetValue(k, a)
	return innerArm
}

// setConditions replaces the client's conditions by those of a revalidation, if there are any.
func (k *cache) setConditions(c *web.Conn, a *forwardedRequest, stale *storedResponse) {
	for _, name := range [...]string{"If-None-Match", "If-Modified-Since"} {
		if c.RequestHeader(name) != "" {
			c.DelRequestHeader(name)
		}
	}
	if stale == nil || !stale.hasValidator() {
		return
	}
	a.mode, a.stale = revalidating, stale
	stale.revalidationStart.Store(a.forwardedAt.UnixNano())
	if tag := stale.header.Get("Etag"); tag != "" {
		c.SetRequestHeader("If-None-Match", tag)
	}
	if modified := stale.header.Get("Last-Modified"); modified != "" {
		c.SetRequestHeader("If-Modified-Since", modified)
	}
}

// invalidationCount returns the count of invalidations of a key.
func (k *cache) invalidationCount(of cacheKey) *atomic.Uint32 {
	return &k.invalidations[maphash.Comparable(k.seed, of)%uint64(len(k.invalidations))]
}
