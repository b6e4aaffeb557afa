package basic

import (
	"fmt"
	"net/url"
	"strings"

	"weir/web"
)

// target is the address of a redirect: a text with placeholders.
type target struct {
	parts  []string // text at even indices, names of placeholders at odd ones
	isPath bool     // a path of the same host
}

// newTarget parses a target. It rejects targets in which the client's input could become the host.
// allowRest says whether {rest} is allowed.
func newTarget(s string, allowRest bool) (*target, error) {
	t := &target{isPath: strings.HasPrefix(s, "/") || strings.HasPrefix(s, "{path}")}
	if err := checkHost(s, t.isPath); err != nil {
		return nil, err
	}
	for tail := s; ; {
		text, more, found := strings.Cut(tail, "{")
		t.parts = append(t.parts, text)
		if !found {
			return t, nil
		}
		name, after, closed := strings.Cut(more, "}")
		switch {
		case !closed:
			return nil, fmt.Errorf("redirect: to is %q, which has a { without a }", s)
		case name == "rest" && !allowRest:
			return nil, fmt.Errorf("redirect: to has {rest}, but from does not end in *: end from with /*, or remove {rest}")
		case name != "path" && name != "rest" && name != "host" && name != "query":
			return nil, fmt.Errorf("redirect: to has {%s}: write {path}, {rest}, {host} or {query}", name)
		}
		t.parts = append(t.parts, name)
		tail = after
	}
}

// checkHost returns an error unless the configuration alone decides the target's host.
// isPath says whether the target is a path of the same host.
func checkHost(s string, isPath bool) error {
	if isPath {
		// A browser reads //name and /\name as another host.
		if strings.HasPrefix(s, "//") || strings.HasPrefix(s, `/\`) {
			return fmt.Errorf("redirect: to is %q: write https: before the //, or one / for a path", s)
		}
		return nil
	}
	_, after, ok := strings.Cut(s, "://")
	if !ok || !strings.HasPrefix(s, "http://") && !strings.HasPrefix(s, "https://") {
		return fmt.Errorf("redirect: to is %q: begin with / or {path} for a path of the same host, or with http:// or https://", s)
	}
	// The value of {path} begins with a slash, so it ends the host as a slash in s does.
	host, _, _ := strings.Cut(after, "{path}")
	if end := strings.IndexAny(host, "/?#"); end >= 0 {
		host = host[:end]
	}
	if host == "" || strings.Contains(strings.ReplaceAll(host, "{host}", ""), "{") {
		return fmt.Errorf("redirect: to is %q, which lets the client choose the host: write a host with a / after it", s)
	}
	return nil
}

// expand fills in the placeholders; prefix is the part of the path before {rest}. It reports false
// when {host} is needed and the request has no valid host.
func (t *target) expand(c *web.Conn, prefix string) (string, bool) {
	var b strings.Builder
	b.WriteString(t.parts[0])
	for i := 1; i < len(t.parts); i += 2 {
		fill, text := "", t.parts[i+1]
		switch t.parts[i] {
		case "path":
			fill = escapePath("/" + strings.TrimLeft(c.Path(), "/"))
		case "rest":
			fill = escapePath(strings.TrimPrefix(c.Path(), prefix))
		case "query":
			fill = escapeQuery(c.RawQuery())
		case "host":
			name, ok := hostName(c.Host())
			if !ok {
				return "", false
			}
			fill = name
		}
		b.WriteString(fill)
		b.WriteString(text)
	}
	address := b.String()
	// {query} is the end of the target, and the query is empty: without the ? or & before it.
	if n := len(t.parts); n > 2 && t.parts[n-2] == "query" && t.parts[n-1] == "" && c.RawQuery() == "" {
		address = strings.TrimRight(address, "?&")
	}
	if t.isPath { // exactly one slash: with two, a browser would read a host
		address = "/" + strings.TrimLeft(address, "/")
	}
	return address, true
}

// escapePath escapes a path for an address, backslashes and control characters included.
func escapePath(p string) string {
	// EscapedPath returns the path "*" unescaped. With a slash before it, it is as any other.
	return strings.ReplaceAll((&url.URL{Path: "/" + p}).EscapedPath()[1:], `\`, "%5C")
}

// escapeQuery escapes the bytes of a query that could end it, and percent signs that begin no
// escape.
func escapeQuery(q string) string {
	var b strings.Builder
	for i := range len(q) {
		ch := q[i]
		if ch <= ' ' || ch >= 0x7f || strings.IndexByte(`"<>\#`, ch) >= 0 || ch == '%' && !isEscape(q[i:]) {
			fmt.Fprintf(&b, "%%%02X", ch)
		} else {
			b.WriteByte(ch)
		}
	}
	return b.String()
}

// isEscape reports whether s begins with a percent-encoded byte.
func isEscape(s string) bool {
	hex := func(ch byte) bool { return ch >= '0' && ch <= '9' || ch|0x20 >= 'a' && ch|0x20 <= 'f' }
	return len(s) > 2 && hex(s[1]) && hex(s[2])
}

// hostName returns a host without its port, and whether it has the form of a name or an address.
func hostName(host string) (string, bool) {
	name := host
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		name = host[:i]
	}
	inside, bracketed := strings.CutPrefix(name, "[")
	if bracketed {
		inside = strings.TrimSuffix(inside, "]")
	}
	for _, ch := range []byte(inside) {
		letter := ch|0x20 >= 'a' && ch|0x20 <= 'z' || ch >= '0' && ch <= '9' || ch == '.'
		if !letter && (bracketed && ch != ':' || !bracketed && ch != '-' && ch != '_') {
			return "", false
		}
	}
	return name, inside != "" && bracketed == strings.HasSuffix(name, "]")
}
