package basic

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"weir/web"
)

// RedirectConfig says what [Redirect] sends away, and where to.
type RedirectConfig struct {
	// "/old" is that path, "/old/*" the paths below it; empty: all paths
	From string `hcl:"from,optional"`

	// To is the target: an address with http:// or https://, or a path of the same host. In it
	// stand {path} for the path that was asked for, {rest} for what the * of From stood for, {host}
	// for the host without its port, {query} for the query. A ? or & before an empty query is left
	// out. Empty with HTTPS: https://{host}{path}?{query}.
	To     string `hcl:"to,optional"`
	Status int    `hcl:"status,optional"` // 301, 302, 303, 307 or 308; 0: 302, or 308 with HTTPS
	HTTPS  bool   `hcl:"https,optional"`  // only exchanges that did not come over TLS
}

// Redirect answers by sending the client elsewhere. With a From, or with HTTPS, it is a pipe, which
// lets the others pass and leaves answers that are there alone; otherwise it is a source. What the
// client wrote never decides on the host it is sent to, but for the {host} that it has asked for: a
// path such as //example.org/ stays a path. A {host} that is no name or address is answered by 400.
func Redirect(cfg RedirectConfig) (web.Component, error) {
	usual := http.StatusFound
	if cfg.HTTPS {
		usual = http.StatusPermanentRedirect
		cfg.To = cmp.Or(cfg.To, "https://{host}{path}?{query}")
	}
	way := &redirect{from: cfg.From, below: strings.HasSuffix(cfg.From, "/*"), https: cfg.HTTPS, status: cmp.Or(cfg.Status, usual)}
	if way.below {
		way.from = strings.TrimSuffix(way.from, "*")
	}
	switch {
	case !slices.Contains([]int{301, 302, 303, 307, 308}, way.status):
		return nil, fmt.Errorf("redirect: status is %d: write 301, 302, 303, 307 or 308", way.status)
	case cfg.From != "" && cfg.From[0] != '/' || strings.Contains(way.from, "*"):
		return nil, fmt.Errorf("redirect: from is %q: write a path such as \"/old\", or \"/old/*\" for those below it", cfg.From)
	case cfg.From == cfg.To:
		return nil, fmt.Errorf("redirect: to is %q, as is from: the client would come back for ever", cfg.To)
	}
	var err error
	if way.to, err = newTarget(cfg.To, way.below); err != nil {
		return nil, err
	}
	if cfg.From == "" && !cfg.HTTPS {
		return named("redirect", web.Source(way.answer)), nil
	}
	return named("redirect", web.Pipe(func(c *web.Conn) {
		if !c.Answered() && way.takes(c) {
			c.Answer(way.answer(c))
		}
	})), nil
}

// redirect is one way elsewhere.
type redirect struct {
	from   string // a path; "": all
	below  bool   // from ends in /, and what is below it is meant
	https  bool
	status int
	to     *target
}

func (r *redirect) takes(c *web.Conn) bool {
	if r.https && c.Secure() {
		return false
	}
	if r.below {
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
