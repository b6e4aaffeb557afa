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

// Arm is a branch of [Routes]: the component for requests that match a pattern of [http.ServeMux],
// such as "/js/", "GET /{$}" or "example.org/".
type Arm struct {
	Pattern string
	Component
}

// Routes is a branch by the request's method, host and path. It uses the patterns and the
// precedence of [http.ServeMux], on the canonical forms of host and path.
//
// A request for a folder without the final slash is answered by a redirect, and a method that the
// path's patterns exclude by 405. A request that matches no pattern goes to the component behind
// the routes. For a request that matches, the key [Route] has the pattern.
//
// The error names a pattern that is malformed, can never match, or conflicts with another.
func Routes(arms ...Arm) (Component, error) {
	mux := http.NewServeMux()
	b := &branch{traits: Traits{Name: "routes"}}
	patterns := make([]any, len(arms)) // boxed once, for SetValue
	for i, a := range arms {
		if err := registerRoute(mux, a.Pattern, arm(i)); err != nil {
			return nil, err
		}
		b.arms, b.armLabels = append(b.arms, a.Component), append(b.armLabels, a.Pattern)
		patterns[i] = a.Pattern
	}
	if len(arms) == 1 && arms[0].Pattern == "/" {
		b.choose = func(c *Conn) int {
			c.SetValue(Route, patterns[0])
			return 0
		}
		return b, nil
	}
	b.decidesAlike = func(c *Conn, path string) bool {
		now, _ := mux.Handler(c.r)
		request := &http.Request{Method: c.r.Method, URL: &url.URL{Path: path}, Host: c.r.Host}
		then, _ := mux.Handler(request)
		return muxDecision(now, c.r) == muxDecision(then, request)
	}
	b.choose = func(c *Conn) int {
		r := c.r
		if r.Method == http.MethodConnect { // for CONNECT the mux would match the port, too
			r = &http.Request{Method: r.Method, URL: r.URL, Host: canonical.Name(r.Host)}
		}
		h, pattern := mux.Handler(r)
		if bare, ok := canonical.WithoutParams(r.URL.Path); ok && !strings.Contains(pattern, ";") {
			other, _ := mux.Handler(&http.Request{Method: r.Method, URL: &url.URL{Path: bare}, Host: r.Host})
			if muxDecision(h, r) != muxDecision(other, r) {
				c.RejectPathParams()
				return -1
			}
		}
		if i, ok := h.(arm); ok {
			c.SetValue(Route, patterns[i])
			return int(i)
		}
		answerAsMux(c, h)
		return -1
	}
	return b, nil
}

// muxDecision returns the index of the arm that a handler of the mux stands for, or, as a negative
// number, the status of the mux's own answer.
func muxDecision(h http.Handler, r *http.Request) int {
	if i, ok := h.(arm); ok {
		return int(i)
	}
	said := recordedHead{header: http.Header{}}
	h.ServeHTTP(&said, r)
	return -said.status
}

// answerAsMux answers a request that matches no arm as the mux does: the path is a folder's without
// its slash, or the method is not allowed. It does nothing if the mux answers 404.
func answerAsMux(c *Conn, h http.Handler) {
	if c.Answered() {
		return
	}
	said := recordedHead{header: http.Header{}}
	h.ServeHTTP(&said, c.r)
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

// recordedHead records the head of a response instead of sending it.
type recordedHead struct {
	header http.Header
	status int
}

func (s *recordedHead) Header() http.Header         { return s.header }
func (s *recordedHead) Write(p []byte) (int, error) { return len(p), nil }
func (s *recordedHead) WriteHeader(status int)      { s.status = status }

// arm is the handler of an arm in the mux. The mux finds it, but it is never called.
type arm int

func (arm) ServeHTTP(http.ResponseWriter, *http.Request) {}

// registerRoute adds a pattern to the mux, with its host in canonical form. An IPv6 address is
// added with and without brackets, since the mux strips them together with a port.
func registerRoute(mux *http.ServeMux, pattern string, h http.Handler) error {
	start := strings.LastIndexAny(pattern[:max(0, strings.IndexByte(pattern, '/'))], " \t") + 1
	method, rest := pattern[:start], pattern[start:]
	slash := strings.IndexByte(rest, '/')
	if slash < 0 {
		return register(mux, pattern, h) // it reports what is wrong
	}
	if err := checkMatchable(rest[slash:]); err != nil {
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
		return fmt.Errorf("web: route %q: it has a port, which routes do not match: remove it", pattern)
	}
	if inside, ok := strings.CutPrefix(host, "["); ok {
		if err := register(mux, method+strings.TrimSuffix(inside, "]")+rest[slash:], h); err != nil {
			return err
		}
	}
	return register(mux, method+host+rest[slash:], h)
}

// checkMatchable returns an error if no canonical path can match the path of a pattern.
func checkMatchable(path string) error {
	decoded, err := url.PathUnescape(path)
	if err != nil { // the mux takes invalid encoding literally
		decoded = path
	}
	if !canonical.IsPath(decoded, "") || strings.Contains(strings.ToLower(path), "%2f") {
		return errors.New("no path can match it: paths are matched in canonical form, without empty and dot segments, backslashes, control characters and %2F")
	}
	return nil
}

// registeredAt matches the mux's note of the caller's source line, which is always in this file.
var registeredAt = regexp.MustCompile(` \(registered at [^)]*\)`)

// register adds a pattern to the mux, and turns the mux's panic about an invalid pattern into an
// error.
func register(mux *http.ServeMux, pattern string, h http.Handler) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("web: route %q: %s", pattern, registeredAt.ReplaceAllString(fmt.Sprint(p), ""))
		}
	}()
	mux.Handle(pattern, h)
	return nil
}
