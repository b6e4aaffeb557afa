package basic

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"weir/web"
)

// RedirectConfig sets which requests [Redirect] redirects, and where to.
type RedirectConfig struct {
	// From is the path to redirect: "/old" is that path, "/old/*" all paths below it. Empty: all
	// paths.
	From string `hcl:"from,optional"`

	// To is the target: an address with http:// or https://, or a path of the same host.
	// Placeholders are {path} for the request's path, {rest} for the part that the * of From
	// matched, {host} for the host without its port, and {query} for the query. A ? or & before an
	// empty query is removed. Empty with HTTPS: https://{host}{path}?{query}.
	To string `hcl:"to,optional"`
	// Status is the status: 301, 302, 303, 307 or 308. 0: 302, or 308 with HTTPS.
	Status int `hcl:"status,optional"`
	// HTTPS redirects only requests that did not come over TLS.
	HTTPS bool `hcl:"https,optional"`
}

// Redirect answers with a redirect. With From or HTTPS it is a pipe: it passes other requests on
// and keeps existing answers. Otherwise it is a source.
//
// Apart from {host}, the request never decides the target's host: a path such as //example.org/
// stays a path. A {host} that is neither a name nor an address is answered by 400.
func Redirect(cfg RedirectConfig) (web.Component, error) {
	defaultStatus := http.StatusFound
	if cfg.HTTPS {
		defaultStatus = http.StatusPermanentRedirect
		cfg.To = cmp.Or(cfg.To, "https://{host}{path}?{query}")
	}
	r := &redirect{from: cfg.From, prefixMatch: strings.HasSuffix(cfg.From, "/*"), https: cfg.HTTPS, status: cmp.Or(cfg.Status, defaultStatus)}
	if r.prefixMatch {
		r.from = strings.TrimSuffix(r.from, "*")
	}
	switch {
	case !slices.Contains([]int{301, 302, 303, 307, 308}, r.status):
		return nil, fmt.Errorf("redirect: status is %d: write 301, 302, 303, 307 or 308", r.status)
	case cfg.From != "" && cfg.From[0] != '/' || strings.Contains(r.from, "*"):
		return nil, fmt.Errorf("redirect: from is %q: write a path such as \"/old\", or \"/old/*\" for those below it", cfg.From)
	case cfg.From == cfg.To:
		return nil, fmt.Errorf("redirect: to is %q, as is from: that is a redirect loop", cfg.To)
	}
	var err error
	if r.to, err = newTarget(cfg.To, r.prefixMatch); err != nil {
		return nil, err
	}
	if cfg.From == "" && !cfg.HTTPS {
		return named("redirect", web.Source(r.answer)), nil
	}
	return named("redirect", web.Pipe(func(c *web.Conn) {
		if !c.Answered() && r.matches(c) {
			c.Answer(r.answer(c))
		}
	})), nil
}

// redirect is one rule: which requests, and where to.
type redirect struct {
	from        string // a path; "": all paths
	prefixMatch bool   // from ends in a slash, and all paths below it match
	https       bool
	status      int
	to          *target
}

func (r *redirect) matches(c *web.Conn) bool {
	if r.https && c.Secure() {
		return false
	}
	if r.prefixMatch {
		return strings.HasPrefix(c.Path(), r.from)
	}
	return r.from == "" || c.Path() == r.from
}

func (r *redirect) answer(c *web.Conn) web.Body {
	address, ok := r.to.expand(c, r.from)
	if !ok {
		return c.StatusBody(http.StatusBadRequest)
	}
	body := c.StatusBody(r.status)
	c.SetHeader("Location", address)
	return body
}
