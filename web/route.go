package web

import (
	"fmt"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strings"
)

// Arm is a branch of [Routes]: what goes through it, under a pattern of [http.ServeMux], such as "/js/", "GET /{$}" or "example.org/".
type Arm struct {
	Pattern string
	Component
}

// Routes is a branch by the request's method, host and path, with the patterns and the precedence of [http.ServeMux]. A path that the mux would have
// written otherwise is answered by a redirect, a method that the path's patterns exclude by 405; what else fits no pattern goes straight to what
// follows. A single arm "/" takes every path as it is. What fits one has it under the key [Route]. The error names the pattern that is malformed or in conflict with another.
func Routes(arms ...Arm) (Component, error) {
	mux := http.NewServeMux()
	b := &branch{traits: Traits{Name: "routes"}}
	patterns := make([]any, len(arms)) // made once, for SetValue
	for i, a := range arms {
		if err := register(mux, a.Pattern, arm(i)); err != nil {
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
		if c.Target() == "*" { // of OPTIONS (RFC 9112 section 3.2.4): no path that could be written otherwise
			return -1
		}
		h, _ := mux.Handler(c.HTTPRequest())
		if i, ok := h.(arm); ok {
			c.SetValue(Route, patterns[i])
			return int(i)
		}
		answerOf(c, h)
		return -1
	}
	return b, nil
}

// answerOf answers with what the mux says of a request that takes no arm, unless that is only that it takes none: that the path is to be
// written otherwise, or the method is not allowed.
func answerOf(c *Conn, h http.Handler) {
	said := said{header: http.Header{}}
	h.ServeHTTP(&said, c.HTTPRequest())
	if said.status == http.StatusNotFound || c.Answered() {
		return
	}
	c.Reply(said.status)
	if v := said.header.Get("Allow"); v != "" {
		c.SetHeader("Allow", v)
	}
	if v := said.header.Get("Location"); v != "" {
		c.SetHeader("Location", onceEscaped(v, c.HTTPRequest().URL.EscapedPath()))
	}
}

// onceEscaped is the mux's location for a path: what it has only cleaned, it escapes a second time.
func onceEscaped(location, escaped string) string {
	clean := path.Clean("/" + escaped)
	if strings.HasSuffix(escaped, "/") && clean != "/" {
		clean += "/"
	}
	if query, ok := strings.CutPrefix(location, (&url.URL{Path: clean}).String()); ok && (query == "" || query[0] == '?') {
		return clean + query
	}
	return location
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
