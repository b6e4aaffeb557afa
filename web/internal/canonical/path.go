package canonical

import (
	"errors"
	"net/url"
	"strings"
)

// Path is a canonical path.
type Path struct {
	Decoded string // what decisions are made on
	Escaped string // what upstreams are sent
	Raw     string // as the client escaped it

	// Resolved reports whether empty or dot segments were resolved: Raw may then mean something
	// else to a program that resolves them in another way.
	Resolved bool
	// Slash reports whether Raw has an encoded slash, which Decoded has as a slash.
	Slash bool
}

// Why a path has no canonical form. The texts are for the client.
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
	plain      = 1 << iota // may stand in an escaped path as it is (RFC 3986, pchar and "/")
	unreserved             // is never encoded (RFC 3986, 2.3)
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

// IsPath reports whether the path of a URL (its fields Path and RawPath) is canonical as it is. It
// does not allocate.
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

// isDots reports whether a path begins with a dot segment, with parameters or without.
func isDots(path string) bool {
	n := 1
	if len(path) > 1 && path[1] == '.' {
		n = 2
	}
	return path[0] == '.' && (len(path) == n || path[n] == '/' || path[n] == ';')
}

// isEscaped reports whether an escaped path is canonical but for its segments.
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

// decode is the byte of the percent encoding that s begins with.
func decode(s string) (c byte, ok bool) {
	if len(s) < 3 {
		return 0, false
	}
	high, low := hex(s[1]), hex(s[2])
	return high<<4 | low, high < 16 && low < 16
}

// hex is the value of a hexadecimal digit, 16 for another byte.
func hex(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10
	}
	return 16
}

// ParsePath is the canonical form of the path of a URL. With slashes, an encoded slash is read as a
// slash; otherwise it is an error.
func ParsePath(u *url.URL, slashes bool) (p Path, err error) {
	p.Raw = rawPath(u)
	var b strings.Builder
	inParams := false // of a segment
	for i := 0; i < len(p.Raw); i++ {
		c, encoded := p.Raw[i], false
		if c == '%' {
			if c, encoded = decode(p.Raw[i:]); !encoded {
				return p, errEncoding
			}
			i += 2
		}
		if err := refuse(c, encoded, slashes); err != nil {
			return p, err
		}
		if inParams = c == ';' || inParams && (c != '/' || encoded); inParams && c == '/' {
			return p, errSlashParam
		}
		p.Slash = p.Slash || c == '/' && encoded
		writeEscaped(&b, c, encoded)
	}
	p.Escaped = Resolve(b.String())
	p.Resolved = p.Escaped != b.String()
	if p.Decoded, err = url.PathUnescape(p.Escaped); err == nil && hasDotParams(p.Decoded) {
		err = errDotParams
	}
	return p, err
}

// refuse is why a byte of a path, which was encoded or not, cannot be in one; nil when it can.
func refuse(c byte, encoded, slashes bool) error {
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

// writeEscaped writes a byte of a path in its canonical encoding: reserved characters stay as they
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

// rawPath is the path of a URL as the client escaped it. A RawPath that does not belong to Path,
// because a caller has changed that alone, is ignored as package url does.
func rawPath(u *url.URL) string {
	if u.RawPath != "" {
		if path, err := url.PathUnescape(u.RawPath); err == nil && path == u.Path {
			return u.RawPath
		}
	}
	return (&url.URL{Path: u.Path}).EscapedPath()
}

// hasDotParams reports whether a path has a dot segment with parameters, which some programs take
// for one without.
func hasDotParams(path string) bool {
	for segment := range strings.SplitSeq(path, "/") {
		if name, _, ok := strings.Cut(segment, ";"); ok && (name == "." || name == "..") {
			return true
		}
	}
	return false
}

// Resolve is a path from / on without empty and dot segments (RFC 3986, 5.2.4). A slash at its end
// stays.
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

// WithoutParams is a canonical path as programs read it that give segments parameters (";x"):
// without these. It reports false where there are none.
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

// IsBelow reports whether a canonical path is a folder, or below it. A folder has no slash at its
// end; the root is "".
func IsBelow(folder, path string) bool {
	rest, ok := strings.CutPrefix(path, folder)
	return ok && (rest == "" || rest[0] == '/')
}
