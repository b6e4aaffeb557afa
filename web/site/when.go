package site

import (
	"fmt"
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strings"

	"weir/web"
	"weir/web/internal/canonical"
	"weir/web/internal/client"
)

// condition is the attributes of a when: it holds when all that are given hold.
type condition struct {
	// a pattern of path.Match for the whole path, or a folder and /** for it and all below
	Path   string   `hcl:"path,optional"`
	Method []string `hcl:"method,optional"` // one of these
	Host   string   `hcl:"host,optional"`   // without port
	// NAME, which is there, or NAME: VALUE, which is part of it, in any case
	Header string `hcl:"header,optional"`
	// the client's address is in one of these prefixes, such as 10.0.0.0/8
	From   []string `hcl:"from,optional"`
	Secure *bool    `hcl:"secure,optional"` // over TLS, or not
	Not    bool     `hcl:"not,optional"`    // holds when the rest does not
}

// when is the kind of a branch with one arm.
func when() Kind {
	return Kind{About: "its components, for exchanges of which its conditions hold", build: func(b *block) web.Component {
		var c condition
		inner := b.pipeline(b.Body, true)
		if !b.decode(&c) || inner == nil {
			return nil
		}
		test, err := c.test()
		if err != nil {
			b.fail(b.TypeRange, "Invalid when", err.Error())
			return nil
		}
		return b.finish(web.When(b.name("when"), test, inner))
	}}
}

// test is the condition as a function.
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
		all = append(all, func(conn *web.Conn) bool { return contains(c.Method, conn.Method()) })
	}
	if c.Host != "" {
		host, err := canonical.ParseHost(c.Host, 0)
		if err != nil || canonical.Name(host) != host {
			return nil, fmt.Errorf("host %q is no host: write a name such as example.org, or an address, without a port", c.Host)
		}
		all = append(all, func(conn *web.Conn) bool { return canonical.Name(conn.Host()) == host })
	}
	if name, _, _ := strings.Cut(c.Header, ":"); strings.EqualFold(name, "Host") {
		return nil, fmt.Errorf("header %q can never match, since the host is no field here: write the attribute host", c.Header)
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
		return nil, fmt.Errorf("it has no condition: give path, method, host, header, from or secure")
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

// pathTest is the condition on the canonical path.
func pathTest(pattern string) (func(*web.Conn) bool, error) {
	if _, err := path.Match(pattern, ""); err != nil {
		return nil, fmt.Errorf("path %q is no pattern: * stands for a part without /, [ begins a class", pattern)
	}
	if !canonical.IsPath(strings.ReplaceAll(pattern, `\`, ""), "") || encoded.MatchString(pattern) {
		return nil, fmt.Errorf("path %q can never match: write it from / on, decoded, and without empty and dot segments", pattern)
	}
	folder, isBelow := strings.CutSuffix(pattern, "/**")
	if !isBelow {
		return withOrWithoutParams(pattern, func(name string) bool {
			ok, _ := path.Match(pattern, name)
			return ok
		}), nil
	}
	if strings.ContainsAny(folder, `*?[\`) {
		return nil, fmt.Errorf("path %q has a pattern before /**, where only names can stand: write them all, in a when each", pattern)
	}
	return withOrWithoutParams(pattern, func(name string) bool { return canonical.IsBelow(folder, name) }), nil
}

// withOrWithoutParams holds when a path matches. One that would match, or not, only without the
// parameters of its segments is refused, unless the pattern itself has some.
func withOrWithoutParams(pattern string, matches func(path string) bool) func(*web.Conn) bool {
	if strings.Contains(pattern, ";") {
		return func(conn *web.Conn) bool { return matches(conn.Path()) }
	}
	return func(conn *web.Conn) bool {
		ok := matches(conn.Path())
		if bare, has := canonical.WithoutParams(conn.Path()); has && matches(bare) != ok {
			conn.RefuseParams()
		}
		return ok
	}
}

// encoded finds a byte that is percent-encoded.
var encoded = regexp.MustCompile("%[0-9A-Fa-f]{2}")

func headerTest(spec string) func(*web.Conn) bool {
	name, value, hasValue := strings.Cut(spec, ":")
	value = strings.ToLower(strings.TrimSpace(value))
	return func(conn *web.Conn) bool {
		conn.Vary(name) // or a cache would give the answer to those of whom this does not hold
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
		if err != nil || p.Addr().Is4In6() { // as which no client's address is seen
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

func contains(list []string, s string) bool {
	for _, one := range list {
		if strings.EqualFold(one, s) {
			return true
		}
	}
	return false
}
