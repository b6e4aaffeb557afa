package web

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"weir/web/internal/canonical"
)

// Reasons to answer a request by 400 whatever the composition is. The client sees these texts.
var (
	errTarget = errors.New("the request target is not a path")
	errUser   = errors.New("the request target has user information")
	errQuery  = errors.New("the query has a space or a '#', which must be encoded")
	errHosts  = errors.New("the request has more than one host")
	errMethod = errors.New("methods are case-sensitive: write the method in capital letters")
	errParams = errors.New("the path has parameters (;x) that would change which rules apply")
)

// rawPath is a request's path before canonicalization, for [Conn.RawPath].
type rawPath struct {
	escaped      string // "": the path was canonical
	encodedSlash bool   // the path has a %2F
	ambiguous    bool   // an upstream may take escaped for another path: do not forward it
}

// isCanonical reports whether a request can be used as received. It does not allocate.
func isCanonical(r *http.Request) bool {
	u := r.URL
	return u.Scheme == "" && u.Host == "" && isMethod(r.Method) && canonical.IsPath(u.Path, u.RawPath) &&
		canonical.IsHost(r.Host, defaultPort(r)) && (r.ProtoMajor < 2 || r.Header["Host"] == nil && isQuery(u.RawQuery))
}

// canonicalize brings a request into canonical form, or answers it by 400. Components then see one
// form of path and host only; Target and RawPath keep the received form.
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
		c.reject(err)
	}
}

// reject answers by 400 and sends the reason to the client.
func (c *Conn) reject(why error) {
	c.Fail(http.StatusBadRequest, why)
	c.setAnswer(String("400 Bad Request: " + why.Error() + "\n"))
}

// RejectPathParams answers an exchange by 400, unless it has an answer. A component calls it if its
// decision would differ without the parameters of path segments (";x"): an upstream that strips
// such parameters would take the path for another one.
func (c *Conn) RejectPathParams() {
	if c.assertOwned(); !c.answered {
		c.reject(errParams)
	}
}

// canonicalURL sets the request's URL to origin form (RFC 9112, section 3.2.1) with the canonical
// path.
func (c *Conn) canonicalURL(r *http.Request, slashes bool) error {
	u := r.URL
	switch absolute := u.Scheme != ""; {
	// authority form (RFC 9112, section 3.2.3) has no path
	case r.Method == http.MethodConnect && u.Path == "":
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
		c.setAnswer(Body{})
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
		c.clientPath = rawPath{escaped: p.Raw, encodedSlash: p.EncodedSlash, ambiguous: p.Resolved}
	}
	r.URL = &url.URL{Path: p.Decoded, RawPath: p.Escaped, RawQuery: u.RawQuery, ForceQuery: u.ForceQuery}
	if (&url.URL{Path: p.Decoded}).EscapedPath() == p.Escaped {
		r.URL.RawPath = ""
	}
	r.RequestURI = r.URL.RequestURI()
	return nil
}

// canonicalHost brings the request's host into canonical form.
func canonicalHost(r *http.Request) (err error) {
	if hosts := r.Header["Host"]; len(hosts) > 1 || len(hosts) == 1 && !sameHost(hosts[0], r) {
		// HTTP/2 only: the HTTP/1 engine rejects two Host fields and removes a single one from
		// Header
		return errHosts
	}
	r.Host, err = canonical.ParseHost(r.Host, defaultPort(r))
	return err
}

// sameHost reports whether a Host field means the same host as :authority (RFC 9113, section
// 8.3.1).
func sameHost(field string, r *http.Request) bool {
	a, err := canonical.ParseHost(field, defaultPort(r))
	b, err2 := canonical.ParseHost(r.Host, defaultPort(r))
	return err == nil && err2 == nil && a == b
}

// defaultPort returns the default port of the request's scheme, or 0 for CONNECT, whose target
// always has a port (RFC 9110, section 9.3.6).
func defaultPort(r *http.Request) int {
	switch {
	case r.Method == http.MethodConnect:
		return 0
	case r.TLS != nil:
		return 443
	}
	return 80
}

// isMethod reports whether a method has no lower-case letters. Methods are case-sensitive (RFC
// 9110, section 9.1), but not every upstream respects that.
func isMethod(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost:
		return true
	}
	return strings.ToUpper(method) == method
}

// isQuery reports whether a query has no space and no '#', which would end it in a request target.
func isQuery(query string) bool { return !strings.ContainsAny(query, " #") }

// RawPath returns the path as the client escaped it, for an upstream that needs that form; "" means
// that it was canonical. It is available in a composition in which a component has the trait
// RawPath. ok is false if an upstream may take the path for another one than components decided on:
// segments were resolved, or a component has rewritten a path with encoded slashes.
func (c *Conn) RawPath() (path string, ok bool) {
	c.assertOwned()
	return c.clientPath.escaped, !c.clientPath.ambiguous
}

// RequestURI returns the requested path, escaped, with the query, in canonical form. No component
// changes it.
func (c *Conn) RequestURI() string { c.assertOwned(); return c.orig.URL.RequestURI() }
