package cache

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"weir/web"
)

// keep is the pipe behind the part.
func (k *cache) keep(c *web.Conn) {
	a, ok := c.Value(k).(*asked)
	if !ok || !c.Answered() {
		return
	}
	status := c.Status()
	if status == 0 {
		status = http.StatusOK
	}
	switch {
	case a.method != http.MethodGet && a.method != http.MethodHead:
		k.unsafe(a, status)
	case a.stale != nil && status == http.StatusNotModified:
		k.freshen(c, a)
	case a.keeps && !a.decided(c):
		k.consider(c, a, status)
	}
}

// decided reports whether a component inside the part has let this client in, or not, by what is no
// part of the key: whatever the response says of itself, the next client has to be decided on.
func (a *asked) decided(c *web.Conn) bool {
	return c.StringValue(web.User) != a.user || c.StringValue(web.Personal) != a.personal
}

// unsafe lets go of what a request may have changed: "A cache MUST invalidate the target URI when
// it receives a non-error status code in response to an unsafe request method" (section 4.4).
func (k *cache) unsafe(a *asked, status int) {
	if a.method == http.MethodOptions || a.method == http.MethodTrace || status >= 400 {
		return
	}
	k.put.Lock()
	defer k.put.Unlock()
	k.counter(a.key).Add(1)
	k.store.Delete(a.key)
}

// consider keeps a response if it may be kept.
func (k *cache) consider(c *web.Conn, a *asked, status int) {
	if c.Body().IsHijack() || c.Body().Size() > k.largest {
		return
	}
	s := &stored{status: status, header: k.head(c, a), came: k.now()}
	if !k.may(a, s, c.Header("Age")) {
		return
	}
	if data, ok := c.Body().Bytes(); ok && !c.HasTransform() {
		s.body = data
		k.keepIt(a, s)
		return
	}
	size := c.Body().Size()
	if c.HasTransform() {
		size = -1
	}
	c.Tap(func(p []byte) {
		if s != nil {
			if s.body = append(s.body, p...); int64(len(s.body)) > k.largest {
				s = nil
			}
		}
	}, func(whole bool) {
		if whole && s != nil && (size < 0 || size == int64(len(s.body))) {
			s.body = slices.Clip(s.body)
			k.keepIt(a, s)
		}
	})
}

// connection are the fields that are about the connection and not the response (section 3.1).
var connection = []string{"Connection", "Proxy-Connection", "Keep-Alive", "Te", "Transfer-Encoding", "Upgrade", "Proxy-Authenticate", "Proxy-Authentication-Info", "Proxy-Authorization"}

// head is what is kept of the response's head: what the part has set.
func (k *cache) head(c *web.Conn, a *asked) http.Header {
	h := http.Header{}
	for name, values := range c.Fields() {
		if was, ok := a.before[name]; !ok || !slices.Equal(was, values) {
			h[name] = slices.Clone(values)
		}
	}
	for _, line := range h["Connection"] {
		for name := range strings.SplitSeq(line, ",") {
			h.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range connection {
		delete(h, name)
	}
	// made anew
	for _, name := range [...]string{"Content-Length", "Accept-Ranges", "Age", "Cache-Status"} {
		delete(h, name)
	}
	if tag := h.Get("Etag"); c.HasTransform() && strings.HasPrefix(tag, `"`) {
		h["Etag"] = []string{"W/" + tag} // as the core does
	}
	return h
}

// may says whether a shared cache may keep a response (section 3), and sets for how long.
func (k *cache) may(a *asked, s *stored, age string) bool {
	c, h := parseControl(s.header["Cache-Control"]), s.header
	s.control = c
	vary, all := varyOf(h)
	// section 5.2.2.3
	noStore := c.noStore && !(c.mustUnderstand && understood(s.status))
	// section 3.5
	authorized := a.header["Authorization"] == nil || c.public || c.mustRevalidate || c.sMaxAge >= 0
	switch {
	case noStore, c.private, !understood(s.status), !authorized, !all:
		return false
	case h["Set-Cookie"] != nil, h["Content-Range"] != nil, trailers(h):
		return false
	}
	date := dateOf(h, s.came)
	life, explicit := lifetime(c, h, date)
	if !explicit && k.heuristic {
		life = heuristic(s.status, c, h, date)
	}
	switch {
	case !explicit && !c.public && !c.noCache && life == 0:
		return false
	case (life == 0 || c.noCache) && !s.validator():
		return false // it could never be used
	}
	aged := http.Header{"Date": h["Date"]}
	if age != "" {
		aged.Set("Age", age)
	}
	s.age, s.life = initialAge(aged, a.at, s.came), life
	h["Date"] = []string{date.UTC().Format(http.TimeFormat)}
	s.vary, s.values = vary, valuesOf(vary, a.header.Values)
	return true
}

func trailers(h http.Header) bool {
	for name := range h {
		if name == "Trailer" || strings.HasPrefix(name, http.TrailerPrefix) {
			return true
		}
	}
	return false
}

// keepIt keeps a response, unless what it is of may have changed since it was asked for.
func (k *cache) keepIt(a *asked, s *stored) {
	s.finish()
	k.put.Lock()
	defer k.put.Unlock()
	if k.counter(a.key).Load() != a.let {
		return
	}
	r, _ := k.store.Get(a.key)
	r = r.with(s)
	cost := int64(0)
	for _, one := range r {
		cost += one.cost()
	}
	k.store.Put(a.key, r, cost)
}

// freshen answers with the stale response, which the part says is still right, and keeps it with
// the fields that came (section 4.3.4).
func (k *cache) freshen(c *web.Conn, a *asked) {
	now := k.now()
	came := k.head(c, a)
	old := a.stale
	if tag := came.Get("Etag"); tag != "" && strings.TrimPrefix(tag, "W/") != strings.TrimPrefix(old.header.Get("Etag"), "W/") {
		k.forget(a) // it is about something else
	} else {
		s := &stored{status: old.status, body: old.body, came: now, header: maps.Clone(old.header)}
		delete(s.header, "Date")
		for name, values := range came {
			// section 3.2
			if name != "Content-Type" && name != "Content-Encoding" && name != "Content-Range" {
				s.header[name] = values
			}
		}
		if k.may(a, s, c.Header("Age")) {
			s.vary, s.values = old.vary, old.values
			k.keepIt(a, s)
		} else {
			s.finish()
			k.forget(a)
		}
		old = s
	}
	c.DelHeader("Age")
	old.answer(c, now)
}

// forget lets go of a resource.
func (k *cache) forget(a *asked) {
	k.put.Lock()
	defer k.put.Unlock()
	k.store.Delete(a.key)
}
