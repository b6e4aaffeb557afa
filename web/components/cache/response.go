package cache

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"weir/web"
)

// handleResponse is the pipe after the inner component.
func (k *cache) handleResponse(c *web.Conn) {
	a, ok := c.Value(k).(*forwardedRequest)
	if !ok || !c.Answered() {
		return
	}
	status := c.Status()
	if status == 0 {
		status = http.StatusOK
	}
	switch {
	case a.mode == passOnly:
	case a.mode == unsafe:
		k.invalidate(a, status)
	case a.mode == revalidating && status == http.StatusNotModified:
		k.freshen(c, a)
	case !a.isPersonal(c):
		k.storeResponse(c, a, status)
	}
}

// isPersonal reports whether a component inside the cache has made an access decision on this
// client. Such a decision is not part of the key, so the next client needs its own, whatever the
// response's fields say.
func (a *forwardedRequest) isPersonal(c *web.Conn) bool {
	return c.StringValue(web.User) != a.user || c.StringValue(web.Personal) != a.personal
}

// invalidate removes the target's responses: "A cache MUST invalidate the target URI when it
// receives a non-error status code in response to an unsafe request method" (section 4.4).
func (k *cache) invalidate(a *forwardedRequest, status int) {
	if status >= 400 {
		return
	}
	k.storeMu.Lock()
	defer k.storeMu.Unlock()
	k.invalidationCount(a.key).Add(1)
	k.store.Delete(a.key)
}

// storeResponse stores the response if that is allowed, a stream once it is complete.
func (k *cache) storeResponse(c *web.Conn, a *forwardedRequest, status int) {
	if c.Body().IsHijack() || c.Body().Size() > k.maxBody {
		return
	}
	s := &storedResponse{status: status, header: k.storedHeader(c, a), receivedAt: k.now()}
	if !k.setLifetime(a, s, c.Header("Age")) {
		return
	}
	if data, ok := c.Body().Bytes(); ok && !c.HasTransform() {
		s.body = data
		k.save(a, s)
		return
	}
	size := c.Body().Size()
	if c.HasTransform() {
		size = -1
	}
	c.Tap(func(p []byte) {
		if s != nil {
			if s.body = append(s.body, p...); int64(len(s.body)) > k.maxBody {
				s = nil
			}
		}
	}, func(whole bool) {
		if whole && s != nil && (size < 0 || size == int64(len(s.body))) {
			s.body = slices.Clip(s.body)
			k.save(a, s)
		}
	})
}

// connectionFields are about the connection and are not stored (section 3.1).
var connectionFields = []string{"Connection", "Proxy-Connection", "Keep-Alive", "Te", "Transfer-Encoding", "Upgrade", "Proxy-Authenticate", "Proxy-Authentication-Info", "Proxy-Authorization"}

// storedHeader returns the response fields to store: those that the inner component has set.
func (k *cache) storedHeader(c *web.Conn, a *forwardedRequest) http.Header {
	h := http.Header{}
	for name, values := range c.Fields() {
		if was, ok := a.fieldsBefore[name]; !ok || !slices.Equal(was, values) {
			h[name] = slices.Clone(values)
		}
	}
	for _, line := range h["Connection"] {
		for name := range strings.SplitSeq(line, ",") {
			h.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range connectionFields {
		delete(h, name)
	}
	// set anew by the core or by the cache
	for _, name := range [...]string{"Content-Length", "Accept-Ranges", "Age", "Cache-Status"} {
		delete(h, name)
	}
	if tag := h.Get("Etag"); c.HasTransform() && strings.HasPrefix(tag, `"`) {
		h["Etag"] = []string{"W/" + tag} // the core does the same
	}
	return h
}

// setLifetime computes the age and lifetime of a response. It reports whether a shared cache may
// store it (section 3).
func (k *cache) setLifetime(a *forwardedRequest, s *storedResponse, age string) bool {
	c, h := parseControl(s.header["Cache-Control"]), s.header
	s.control = c
	vary, all := parseVary(h)
	// section 5.2.2.3
	noStore := c.noStore && !(c.mustUnderstand && understoodStatus(s.status))
	// section 3.5
	authorized := a.header["Authorization"] == nil || c.public || c.mustRevalidate || c.sMaxAge >= 0
	switch {
	case noStore, c.private, !understoodStatus(s.status), !authorized, !all:
		return false
	case h["Set-Cookie"] != nil, h["Content-Range"] != nil, hasTrailers(h):
		return false
	}
	date := dateValue(h, s.receivedAt)
	life, explicit := freshnessLifetime(c, h, date)
	if !explicit && k.heuristic {
		life = heuristicLifetime(s.status, c, h, date)
	}
	switch {
	case !explicit && !c.public && !c.noCache && life == 0:
		return false
	case (life == 0 || c.noCache) && !s.hasValidator():
		return false // it could not be revalidated
	}
	aged := http.Header{"Date": h["Date"]}
	if age != "" {
		aged.Set("Age", age)
	}
	s.initialAge, s.lifetime = correctedInitialAge(aged, a.forwardedAt, s.receivedAt), life
	h["Date"] = []string{date.UTC().Format(http.TimeFormat)}
	s.varyNames, s.varyValues = vary, selectingValues(vary, a.header.Values)
	return true
}

func hasTrailers(h http.Header) bool {
	for name := range h {
		if name == "Trailer" || strings.HasPrefix(name, http.TrailerPrefix) {
			return true
		}
	}
	return false
}

// save stores a response, unless its target was invalidated after the request was forwarded.
func (k *cache) save(a *forwardedRequest, s *storedResponse) {
	s.makeFields()
	k.storeMu.Lock()
	defer k.storeMu.Unlock()
	if k.invalidationCount(a.key).Load() != a.invalidationCount {
		return
	}
	r, _ := k.store.Get(a.key)
	r = r.with(s)
	cost := int64(0)
	for _, one := range r {
		cost += one.memoryCost()
	}
	k.store.Put(a.key, r, cost)
}

// freshen answers with the stale response that the inner component has confirmed, and stores it
// with the fields of the 304 (section 4.3.4).
func (k *cache) freshen(c *web.Conn, a *forwardedRequest) {
	now := k.now()
	came := k.storedHeader(c, a)
	old := a.stale
	if tag := came.Get("Etag"); tag != "" && strings.TrimPrefix(tag, "W/") != strings.TrimPrefix(old.header.Get("Etag"), "W/") {
		k.remove(a) // the 304 is about another representation
	} else {
		s := &storedResponse{status: old.status, body: old.body, receivedAt: now, header: maps.Clone(old.header)}
		delete(s.header, "Date")
		for name, values := range came {
			// section 3.2
			if name != "Content-Type" && name != "Content-Encoding" && name != "Content-Range" {
				s.header[name] = values
			}
		}
		if k.setLifetime(a, s, c.Header("Age")) {
			s.varyNames, s.varyValues = old.varyNames, old.varyValues
			k.save(a, s)
		} else {
			s.makeFields()
			k.remove(a)
		}
		old = s
	}
	c.DelHeader("Age")
	old.answer(c, now)
}

// remove removes the responses of a key.
func (k *cache) remove(a *forwardedRequest) {
	k.storeMu.Lock()
	defer k.storeMu.Unlock()
	k.store.Delete(a.key)
}
