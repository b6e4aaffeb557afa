package canonical

import (
	"errors"
	"net/url"
	"strings"
)

// Path is a canonical path.
type Path struct {
	Decoded string // for decisions
	Escaped string // for upstreams
	Raw     string // as the client escaped it

	// Resolved reports whether empty or dot segments were resolved. A program that resolves them in
	// another way may take Raw for another path.
	Resolved bool
	// EncodedSlash reports whether Raw has an encoded slash; Decoded has a plain one.
	EncodedSlash bool
}

// Reasons why a path has no canonical form. The client sees these texts.
var (
	errSlash      = errors.New("the path has an encoded slash (%2F)")
	errBackslash  = errors.New("the path has a backslash")
	errControl    = errors.New("the path has a control character")
	errFragment   = errors.New("the path has a '#', which must be written %23")
	errEncoding   = errors.New("the path has a '%' without two hexadecimal digits")
	errSlashParam = errors.New("the path has an encoded slash in the parameters of a segment (;x%2F)")
	errDotParams  = errors.New("the path has a dot segment with parameters (..;)")
)

// Classes of bytes in a path.
const (
	plain      = 1 << iota // need not be encoded in a path (RFC 3986: pchar and "/")
	unreserved             // is never encoded (RFC 3986, section 2.3)
	special                // ends the fast scan of a decoded path
)

var classes = func() (t [256]uint8) {
	for c := range 256 {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9'
		if letter && c < 0x80 || strings.IndexByte("-._~", byte(c)) >= 0 {
			t[c] |= plain | unreserved
		}
		if strings.IndexByte("!$&'()*+,;=:@/", byte(c)) >= 0 {
			t[c] |= plain
		}
		if isControl(byte(c)) || c == '\\' || c == '/' {
			t[c] |= special
		}
	}
	return t
}()

func isControl(c byte) bool { return c < ' ' || c == 0x7f }

// IsPath reports whether the path of a URL (its fields Path and RawPath) is in canonical form
// already. It does not allocate.
func IsPath(path, raw string) bool {
	return isDecoded(path) && (raw == "" || isEscaped(raw))
}

// isDecoded reports whether a decoded path is canonical.
func isDecoded(path string) bool {
	if path == "" || path[0] != '/' {
		return false
	}
	for i := range len(path) {
		c := path[i]
		if classes[c]&special == 0 {
			continue
		}
		if c != '/' {
			return false
		}
		if rest := path[i+1:]; rest != "" && (rest[0] == '/' || rest[0] == '.' && isDots(rest)) {
			return false
		}
	}
	return true
}

// isDots reports whether a path starts with a dot segment, with or without parameters.
func isDots(path string) bool {
	n := 1
	if len(path) > 1 && path[1] == '.' {
		n = 2
	}
	return path[0] == '.' && (len(path) == n || path[n] == '/' || path[n] == ';')
}

// isEscaped reports whether an escaped path is canonical, its segments apart.
func isEscaped(raw string) bool {
	for i := 0; i < len(raw); i++ {
		if raw[i] != '%' {
			if classes[raw[i]]&plain == 0 {
				return false
			}
			continue
		}
		c, ok := decode(raw[i:])
		if !ok || c == '/' || classes[c]&unreserved != 0 || isLower(raw[i+1]) || isLower(raw[i+2]) {
			return false
		}
		i += 2
	}
	return true
}

func isLower(c byte) bool { return 'a' <= c && c <= 'z' }

// decode returns the byte of the percent encoding at the start of s.
func decode(s string) (c byte, ok bool) {
	if len(s) < 3 {
		return 0, false
	}
	high, low := hex(s[1]), hex(s[2])
	return high<<4 | low, high < 16 && low < 16
}

// hex returns the value of a hexadecimal digit, or 16 for another byte.
func hex(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10
	}
	return 16
}

// ParsePath returns the canonical form of the path of a URL. With slashes set, an encoded slash is
// read as a slash; otherwise it is an error.
func ParsePath(u *url.URL, slashes bool) (p Path, err error) {
	p.Raw = rawPath(u)
	var b strings.Builder
	inParams := false // in the parameters of a segment
	for i := 0; i < len(p.Raw); i++ {
		c, encoded := p.Raw[i], false
		if c == '%' {
			if c, encoded = decode(p.Raw[i:]); !encoded {
				return p, errEncoding
			}
			i += 2
		}
		if err := byteError(c, encoded, slashes); err != nil {
			return p, err
		}
		if inParams = c == ';' || inParams && (c != '/' || encoded); inParams && c == '/' {
			return p, errSlashParam
		}
		p.EncodedSlash = p.EncodedSlash || c == '/' && encoded
		writeEscaped(&b, c, encoded)
	}
	p.Escaped = Resolve(b.String())
	p.Resolved = p.Escaped != b.String()
	if p.Decoded, err = url.PathUnescape(p.Escaped); err == nil && hasDotParams(p.Decoded) {
		err = errDotParams
	}
	return p, err
}

// byteError returns why a byte cannot be in a path, or nil. encoded says that it was
// percent-encoded.
func byteError(c byte, encoded, slashes bool) error {
	switch {
	case c == '/' && encoded && !slashes:
		return errSlash
	case c == '\\':
		return errBackslash
	case isControl(c):
		return errControl
	case c == '#' && !encoded:
		return errFragment
	}
	return nil
}

// writeEscaped writes a byte of a path in its canonical encoding. Reserved characters stay as they
// were.
func writeEscaped(b *strings.Builder, c byte, encoded bool) {
	const digits = "0123456789ABCDEF"
	if class := classes[c]; c == '/' || class&unreserved != 0 || class&plain != 0 && !encoded {
		b.WriteByte(c)
		return
	}
	b.WriteByte('%')
	b.WriteByte(digits[c>>4])
	b.WriteByte(digits[c&15])
}

// rawPath returns the path of a URL as the client escaped it. Like package url, it ignores a
// RawPath that does not match Path, because a caller has changed only Path.
func rawPath(u *url.URL) string {
	if u.RawPath != "" {
		if path, err := url.PathUnescape(u.RawPath); err == nil && path == u.Path {
			return u.RawPath
		}
	}
	return (&url.URL{Path: u.Path}).EscapedPath()
}

// hasDotParams reports whether a path has a dot segment with parameters, which some programs take
// for a plain dot segment.
func hasDotParams(path string) bool {
	for segment := range strings.SplitSeq(path, "/") {
		if name, _, ok := strings.Cut(segment, ";"); ok && (name == "." || name == "..") {
			return true
		}
	}
	return false
}

// Resolve removes empty and dot segments from a path that starts with / (RFC 3986, section 5.2.4).
// It keeps a slash at the end.
func Resolve(path string) string {
	if isDecoded(path) {
		return path
	}
	var kept []string
	last := ""
	for segment := range strings.SplitSeq(path, "/") {
		switch last = segment; segment {
		case "", ".":
		case "..":
			kept = kept[:max(0, len(kept)-1)]
		default:
			kept = append(kept, segment)
		}
	}
	resolved := "/" + strings.Join(kept, "/")
	if len(kept) > 0 && (last == "" || last == "." || last == "..") {
		resolved += "/"
	}
	return resolved
}

// WithoutParams returns a canonical path without the parameters of its segments (";x"), as some
// programs read it. It reports false if there are none.
func WithoutParams(path string) (bare string, ok bool) {
	if strings.IndexByte(path, ';') < 0 {
		return path, false
	}
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		segments[i], _, _ = strings.Cut(segment, ";")
	}
	return Resolve(strings.Join(segments, "/")), true
}

// IsBelow reports whether a canonical path is a folder, or below it. The folder has no slash at its
// end; the root is "".
func IsBelow(folder, path string) bool {
	rest, ok := strings.CutPrefix(path, folder)
	return ok && (rest == "" || rest[0] == '/')
}
