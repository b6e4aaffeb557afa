package site

import (
	"fmt"
	"net/netip"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"weir/web"
	"weir/web/internal/canonical"
	"weir/web/internal/client"
)

// condition is the attributes of a when. It holds if all attributes that are set hold.
type condition struct {
	// Path is a pattern for the whole path, in which * matches a part without a slash. FOLDER/**
	// matches a folder and everything below it. Empty: every path.
	Path string `hcl:"path,optional"`
	// Method are the methods that match. Empty: every method.
	Method []string `hcl:"method,optional"`
	// Host is the host that matches, without a port. Empty: every host.
	Host string `hcl:"host,optional"`
	// Header is NAME for requests that have this field, or NAME: VALUE for those in which the field
	// contains the value, in any case. Empty: every request.
	Header string `hcl:"header,optional"`
	// From are prefixes, such as "10.0.0.0/8"; the client's address must be in one of them. Empty:
	// every address.
	From []string `hcl:"from,optional"`
	// Secure is true for requests over TLS, and false for those without. Nil: both.
	Secure *bool `hcl:"secure,optional"`
	// Not negates the result: the components inside get the exchanges that do not match.
	Not bool `hcl:"not,optional"`
}

// whenKind returns the kind of a branch with one arm.
func whenKind() Kind {
	return Kind{About: "runs the components inside if its conditions hold", Config: reflect.TypeFor[condition](), build: func(b *block) web.Component {
		var c condition
		inner := b.pipeline(b.Body, true)
		if !b.decode(&c) || inner == nil {
			return nil
		}
		test, err := c.test()
		if err != nil {
			b.addError(b.TypeRange, "Invalid when", err.Error())
			return nil
		}
		if c.Path == "" {
			return b.register(web.When(b.labelOr("when"), test, inner))
		}
		matches, _ := pathMatcher(c.Path) // test has checked it
		return b.register(web.WhenPath(b.labelOr("when"), matches, test, inner))
	}}
}

// test returns the condition as a function.
func (c condition) test() (func(*web.Conn) bool, error) {
	var all []func(*web.Conn) bool
	if c.Path != "" {
		matches, err := pathTest(c.Path)
		if err != nil {
			return nil, err
		}
		all = append(all, matches)
	}
	if len(c.Method) > 0 {
		all = append(all, func(conn *web.Conn) bool { return containsFold(c.Method, conn.Method()) })
	}
	if c.Host != "" {
		host, err := canonical.ParseHost(c.Host, 0)
		if err != nil || canonical.Name(host) != host {
			return nil, fmt.Errorf("host %q is not valid: write a name such as example.org, or an address, without a port", c.Host)
		}
		all = append(all, func(conn *web.Conn) bool { return canonical.Name(conn.Host()) == host })
	}
	if name, _, _ := strings.Cut(c.Header, ":"); strings.EqualFold(name, "Host") {
		return nil, fmt.Errorf("header %q can never match: use the attribute host", c.Header)
	}
	if c.Header != "" {
		all = append(all, headerTest(c.Header))
	}
	if c.Secure != nil {
		all = append(all, func(conn *web.Conn) bool { return conn.Secure() == *c.Secure })
	}
	if len(c.From) > 0 {
		from, err := fromTest(c.From)
		if err != nil {
			return nil, err
		}
		all = append(all, from)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("when has no condition: set path, method, host, header, from or secure")
	}
	return func(conn *web.Conn) bool {
		for _, holds := range all {
			if !holds(conn) {
				return c.Not
			}
		}
		return !c.Not
	}, nil
}

// pathTest returns the condition on the canonical path.
func pathTest(pattern string) (func(*web.Conn) bool, error) {
	matches, err := pathMatcher(pattern)
	if err != nil {
		return nil, err
	}
	return withOrWithoutParams(pattern, matches), nil
}

// pathMatcher returns a function that reports whether a canonical path matches a pattern.
func pathMatcher(pattern string) (func(path string) bool, error) {
	if _, err := path.Match(pattern, ""); err != nil {
		return nil, fmt.Errorf("path %q is not a valid pattern: * matches a part without /, [ starts a class", pattern)
	}
	if !canonical.IsPath(strings.ReplaceAll(pattern, `\`, ""), "") || percentEncoded.MatchString(pattern) {
		return nil, fmt.Errorf("path %q can never match: it must start with / and be decoded, without empty and dot segments", pattern)
	}
	folder, isBelow := strings.CutSuffix(pattern, "/**")
	if !isBelow {
		return func(name string) bool {
			ok, _ := path.Match(pattern, name)
			return ok
		}, nil
	}
	if strings.ContainsAny(folder, `*?[\`) {
		return nil, fmt.Errorf("path %q has a pattern before /**, which allows only names: write a when for each folder", pattern)
	}
	return func(name string) bool { return canonical.IsBelow(folder, name) }, nil
}

// withOrWithoutParams returns the condition that a path matches. It rejects a path for which the
// result would differ without the parameters of its segments, unless the pattern has parameters.
func withOrWithoutParams(pattern string, matches func(path string) bool) func(*web.Conn) bool {
	if strings.Contains(pattern, ";") {
		return func(conn *web.Conn) bool { return matches(conn.Path()) }
	}
	return func(conn *web.Conn) bool {
		ok := matches(conn.Path())
		if bare, has := canonical.WithoutParams(conn.Path()); has && matches(bare) != ok {
			conn.RejectPathParams()
		}
		return ok
	}
}

// percentEncoded matches a percent-encoded byte.
var percentEncoded = regexp.MustCompile("%[0-9A-Fa-f]{2}")

func headerTest(spec string) func(*web.Conn) bool {
	name, value, hasValue := strings.Cut(spec, ":")
	value = strings.ToLower(strings.TrimSpace(value))
	return func(conn *web.Conn) bool {
		conn.Vary(name) // so that a cache does not give the response to clients with another value
		got := conn.RequestHeaders(name)
		if !hasValue {
			return len(got) > 0
		}
		for _, v := range got {
			if strings.Contains(strings.ToLower(v), value) {
				return true
			}
		}
		return false
	}
}

func fromTest(specs []string) (func(*web.Conn) bool, error) {
	var prefixes []netip.Prefix
	for _, s := range specs {
		p, err := netip.ParsePrefix(s)
		if err != nil || p.Addr().Is4In6() { // client addresses are never in that form
			return nil, fmt.Errorf("from has %q: write a prefix such as 10.0.0.0/8 or ::1/128", s)
		}
		prefixes = append(prefixes, p)
	}
	return func(conn *web.Conn) bool {
		conn.SetValue(web.Personal, "the client's address")
		a, ok := client.Parse(conn.RemoteAddr())
		return ok && slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return p.Contains(a) })
	}, nil
}

func containsFold(list []string, s string) bool {
	for _, one := range list {
		if strings.EqualFold(one, s) {
			return true
		}
	}
	return false
}
