package web

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"weir/web/internal/canonical"
)

// Why a request cannot be served, whatever the composition is. The texts are for the client.
var (
	errTarget  = errors.New("the request target is no path")
	errUser    = errors.New("the request target names a user")
	errQuery   = errors.New("the query has a space or a '#', which must be encoded")
	errTwoHost = errors.New("the request names more than one host")
	errMethod  = errors.New("methods are written in capital letters")
	errParams  = errors.New("the path has parameters (;x) without which it would be served by other rules")
)

// rawPath is what a request's path was before it was canonical, for [Conn.RawPath].
type rawPath struct {
	path  string // "": it was canonical
	slash bool   // it has an encoded slash
	lost  bool   // it cannot be sent on: it may mean something else there than here
}

// isCanonical reports whether a request can be passed on as it came. It does not allocate.
func isCanonical(r *http.Request) bool {
	u := r.URL
	return u.Scheme == "" && u.Host == "" && isMethod(r.Method) && canonical.IsPath(u.Path, u.RawPath) &&
		canonical.IsHost(r.Host, defaultPort(r)) && (r.ProtoMajor < 2 || r.Header["Host"] == nil && isQuery(u.RawQuery))
}

// canonicalize makes a request that is not canonical so, or answers it by 400. What components see
// then has the path and the host in one form only; what the client wrote is in Target and RawPath.
func (c *Conn) canonicalize(slashes bool) {
	r := new(http.Request)
	*r = *c.orig
	c.r, c.orig = r, r
	err := c.canonicalURL(r, slashes)
	if err == nil {
		err = canonicalHost(r)
	}
	if err == nil && !isMethod(r.Method) {
		err = errMethod
	}
	if err != nil {
		r.URL, r.RequestURI = &url.URL{Path: "/"}, "/"
		c.refuse(err)
	}
}

// refuse answers by 400, and tells the client why.
func (c *Conn) refuse(why error) {
	c.Fail(http.StatusBadRequest, why)
	c.answer(String("400 Bad Request: " + why.Error() + "\n"))
}

// RefuseParams answers an exchange by 400. It is for a component whose decision on the path would
// differ without the parameters of its segments (";x"): an upstream that knows such parameters
// takes it for another path. An answer that is an error already stays.
func (c *Conn) RefuseParams() {
	if c.own(); !c.answered {
		c.refuse(errParams)
	}
}

// canonicalURL gives a request a URL in origin form (RFC 9112, 3.2.1) with the canonical path.
func (c *Conn) canonicalURL(r *http.Request, slashes bool) error {
	u := r.URL
	switch absolute := u.Scheme != ""; {
	case r.Method == http.MethodConnect && u.Path == "": // authority form: it asks for no path
		r.URL = &url.URL{Path: "/"}
		return nil
	case u.Opaque != "", absolute && (r.ProtoMajor > 1 || u.Host == "" || u.Scheme != "http" && u.Scheme != "https"):
		return errTarget
	case u.User != nil:
		// "SHOULD parse for userinfo and treat its presence as an error" (RFC 9110, 4.2.4)
		return errUser
	case u.Path == "*" && r.Method == http.MethodOptions:
		r.URL = &url.URL{Path: "/"}
		c.SetStatus(http.StatusNoContent)
		c.answer(Body{})
		return nil
	case u.Path == "*":
		return errTarget
	case r.ProtoMajor > 1 && !isQuery(u.RawQuery):
		return errQuery
	}
	p, err := canonical.ParsePath(u, slashes)
	if err != nil {
		return err
	}
	if slashes && p.Raw != p.Escaped {
		c.raw = rawPath{path: p.Raw, slash: p.Slash, lost: p.Resolved}
	}
	r.URL = &url.URL{Path: p.Decoded, RawPath: p.Escaped, RawQuery: u.RawQuery, ForceQuery: u.ForceQuery}
	if (&url.URL{Path: p.Decoded}).EscapedPath() == p.Escaped {
		r.URL.RawPath = ""
	}
	r.RequestURI = r.URL.RequestURI()
	return nil
}

// canonicalHost gives a request the canonical form of its host.
func canonicalHost(r *http.Request) (err error) {
	if hosts := r.Header["Host"]; len(hosts) > 1 || len(hosts) == 1 && !sameHost(hosts[0], r) {
		return errTwoHost // over HTTP/2; by HTTP/1 the engine refuses two, and puts away one
	}
	r.Host, err = canonical.ParseHost(r.Host, defaultPort(r))
	return err
}

// sameHost reports whether a field Host means what :authority says (RFC 9113, 8.3.1).
func sameHost(field string, r *http.Request) bool {
	a, err := canonical.ParseHost(field, defaultPort(r))
	b, err2 := canonical.ParseHost(r.Host, defaultPort(r))
	return err == nil && err2 == nil && a == b
}

// defaultPort is the port of the request's scheme. A CONNECT has none: its port is what it asks
// for.
func defaultPort(r *http.Request) int {
	switch {
	case r.Method == http.MethodConnect:
		return 0
	case r.TLS != nil:
		return 443
	}
	return 80
}

// isMethod reports whether a method has no small letters: methods are case-sensitive (RFC 9110,
// 9.1), and not every program behind this one knows that.
func isMethod(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost:
		return true
	}
	return strings.ToUpper(method) == method
}

// isQuery reports whether a query ends where it ends.
func isQuery(query string) bool { return !strings.ContainsAny(query, " #") }

// RawPath is the path as the client escaped it, for an upstream that needs it so; "" means as the
// canonical one. It is known in a composition that has a component with the trait RawPath. It
// reports false where an upstream may take it for another path than the decisions were made on:
// where segments were resolved, or an earlier component has rewritten a path with encoded slashes.
func (c *Conn) RawPath() (path string, ok bool) { c.own(); return c.raw.path, !c.raw.lost }

// RequestURI is the path, escaped, and the query that the client asked for, in canonical form. No
// component changes it.
func (c *Conn) RequestURI() string { c.own(); return c.orig.URL.RequestURI() }
