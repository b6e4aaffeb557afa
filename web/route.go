package web

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"weir/web/internal/canonical"
)

// Arm is a branch of [Routes]: what goes through it, under a pattern of [http.ServeMux], such as
// "/js/", "GET /{$}" or "example.org/".
type Arm struct {
	Pattern string
	Component
}

// Routes is a branch by the request's method, host and path, with the patterns and the precedence
// of [http.ServeMux], matched on the canonical forms of host and path. A folder that was asked for
// without the slash at its end is answered by a redirect, a method that the path's patterns exclude
// by 405; what else fits no pattern goes straight to what follows. What fits one has it under the
// key [Route]. The error names the pattern that is malformed, can never match or is in conflict
// with another.
func Routes(arms ...Arm) (Component, error) {
	mux := http.NewServeMux()
	b := &branch{traits: Traits{Name: "routes"}}
	patterns := make([]any, len(arms)) // made once, for SetValue
	for i, a := range arms {
		if err := route(mux, a.Pattern, arm(i)); err != nil {
			return nil, err
		}
		b.arms = append(b.arms, a.Component)
		patterns[i] = a.Pattern
	}
	if len(arms) == 1 && arms[0].Pattern == "/" {
		b.choose = func(c *Conn) int {
			c.SetValue(Route, patterns[0])
			return 0
		}
		return b, nil
	}
	b.choose = func(c *Conn) int {
		r := c.HTTPRequest()
		if r.Method == http.MethodConnect { // for which the mux would look at the port, too
			r = &http.Request{Method: r.Method, URL: r.URL, Host: canonical.Name(r.Host)}
		}
		h, pattern := mux.Handler(r)
		if bare, ok := canonical.WithoutParams(r.URL.Path); ok && !strings.Contains(pattern, ";") {
			other, _ := mux.Handler(&http.Request{Method: r.Method, URL: &url.URL{Path: bare}, Host: r.Host})
			if decision(h, r) != decision(other, r) {
				c.RefuseParams()
				return -1
			}
		}
		if i, ok := h.(arm); ok {
			c.SetValue(Route, patterns[i])
			return int(i)
		}
		answerOf(c, h)
		return -1
	}
	return b, nil
}

// decision is what a handler of the mux stands for: an arm, or, as a negative number, the status of
// its answer.
func decision(h http.Handler, r *http.Request) int {
	if i, ok := h.(arm); ok {
		return int(i)
	}
	said := said{header: http.Header{}}
	h.ServeHTTP(&said, r)
	return -said.status
}

// answerOf answers a request that takes no arm as the mux does, unless the mux answers 404: the
// path is a folder's without its slash, or the method is not allowed.
func answerOf(c *Conn, h http.Handler) {
	if c.Answered() {
		return
	}
	said := said{header: http.Header{}}
	h.ServeHTTP(&said, c.HTTPRequest())
	if said.status == http.StatusNotFound {
		return
	}
	c.Reply(said.status)
	for _, name := range [...]string{"Allow", "Location"} {
		if v := said.header.Get(name); v != "" {
			c.SetHeader(name, v)
		}
	}
}

// said is the head of a response that is not sent.
type said struct {
	header http.Header
	status int
}

func (s *said) Header() http.Header         { return s.header }
func (s *said) Write(p []byte) (int, error) { return len(p), nil }
func (s *said) WriteHeader(status int)      { s.status = status }

// arm is the handler that stands for an arm; it is found, not called.
type arm int

func (arm) ServeHTTP(http.ResponseWriter, *http.Request) {}

// route gives the mux a pattern, with its host in canonical form. An address of IPv6 stands there
// twice, since the mux takes the brackets off together with a port.
func route(mux *http.ServeMux, pattern string, h http.Handler) error {
	start := strings.LastIndexAny(pattern[:max(0, strings.IndexByte(pattern, '/'))], " \t") + 1
	method, rest := pattern[:start], pattern[start:]
	slash := strings.IndexByte(rest, '/')
	if slash < 0 {
		return register(mux, pattern, h) // which says what is wrong
	}
	if err := matchable(rest[slash:]); err != nil {
		return fmt.Errorf("web: route %q: %w", pattern, err)
	}
	if slash == 0 {
		return register(mux, pattern, h)
	}
	host, err := canonical.ParseHost(rest[:slash], 0)
	switch {
	case err != nil:
		return fmt.Errorf("web: route %q: %w: write a name such as example.org, or an address", pattern, err)
	case canonical.Name(host) != host:
		return fmt.Errorf("web: route %q: it has a port, which routes do not look at: leave it out", pattern)
	}
	if inside, ok := strings.CutPrefix(host, "["); ok {
		if err := register(mux, method+strings.TrimSuffix(inside, "]")+rest[slash:], h); err != nil {
			return err
		}
	}
	return register(mux, method+host+rest[slash:], h)
}

// matchable is why no canonical path can match the path of a pattern; nil where one can.
func matchable(path string) error {
	decoded, err := url.PathUnescape(path)
	if err != nil { // for the mux, what is not encoded is literal
		decoded = path
	}
	if !canonical.IsPath(decoded, "") || strings.Contains(strings.ToLower(path), "%2f") {
		return errors.New("no path can match it: write it without empty and dot segments, backslashes, control characters and %2F, since paths are matched in canonical form")
	}
	return nil
}

// registeredAt is what the mux says of the caller's source, which is always this file.
var registeredAt = regexp.MustCompile(` \(registered at [^)]*\)`)

// register gives the mux a pattern; the mux panics where it is no good.
func register(mux *http.ServeMux, pattern string, h http.Handler) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("web: route %q: %s", pattern, registeredAt.ReplaceAllString(fmt.Sprint(p), ""))
		}
	}()
	mux.Handle(pattern, h)
	return nil
}
