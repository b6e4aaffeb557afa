package cache

import (
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"weir/web"
)

// cacheKey identifies the target of a request in canonical form, so that all spellings of a path
// have one key. It contains the target as the client sent it and as earlier components rewrote it,
// because both may decide the response. It contains the raw path where an upstream may receive
// that.
type cacheKey struct {
	secure                      bool
	host, uri, raw, path, query string
}

func keyOf(c *web.Conn) cacheKey {
	raw, _ := c.RawPath()
	return cacheKey{c.Secure(), c.Host(), c.RequestURI(), raw, c.Path(), c.RawQuery()}
}

// variants are the responses stored under one key, the latest first. It is immutable.
type variants []*storedResponse

// maxVariants is the largest number of responses that are stored under a key.
const maxVariants = 16

// storedResponse is a stored response. It is immutable except for revalidationStart.
type storedResponse struct {
	varyNames, varyValues []string // field names of Vary, and their values in the request
	status                int
	header                http.Header
	fields                []web.Field // of header, ready to be sent
	body                  []byte
	control               cacheControl
	receivedAt            time.Time
	initialAge, lifetime  time.Duration // the age when it was received; the freshness lifetime
	// when the latest revalidation started, Unix time in nanoseconds; 0: never
	revalidationStart atomic.Int64
}

func (s *storedResponse) makeFields() {
	for name, values := range s.header {
		s.fields = append(s.fields, web.NewField(name, strings.Join(values, ", ")))
	}
}

func (s *storedResponse) currentAge(now time.Time) time.Duration {
	return s.initialAge + max(0, now.Sub(s.receivedAt))
}

func (s *storedResponse) memoryCost() int64 {
	n := 1024 + len(s.body)
	for name, values := range s.header {
		n += 64 + len(name)
		for _, v := range values {
			n += 2 * len(v)
		}
	}
	return int64(n)
}

// hasValidator reports whether the response can be revalidated.
func (s *storedResponse) hasValidator() bool {
	return s.header.Get("Etag") != "" || s.header.Get("Last-Modified") != ""
}

// answer answers an exchange with the response.
func (s *storedResponse) answer(c *web.Conn, now time.Time) {
	for _, f := range s.fields {
		c.SetField(f)
	}
	c.SetHeader("Age", strconv.FormatInt(int64(s.currentAge(now)/time.Second), 10))
	c.SetStatus(s.status)
	c.Answer(web.Bytes(s.body))
}

// selectingValues returns the values of these request fields, normalized so that equivalent values
// are equal (section 4.1).
func selectingValues(names []string, header func(string) []string) []string {
	values := make([]string, len(names))
	for i, name := range names {
		values[i] = normalizeField(header(name))
	}
	return values
}

func normalizeField(lines []string) string {
	if len(lines) == 1 && !strings.ContainsAny(lines[0], ", \t") {
		return lines[0]
	}
	var parts []string
	for _, line := range lines {
		for part := range strings.SplitSeq(line, ",") {
			if part = strings.Trim(part, " \t"); part != "" {
				parts = append(parts, part)
			}
		}
	}
	return strings.Join(parts, ",")
}

// match returns the response that a request with these fields selects, or nil.
func (r variants) match(header func(string) []string) *storedResponse {
	for _, s := range r {
		matches := true
		for i, name := range s.varyNames {
			if normalizeField(header(name)) != s.varyValues[i] {
				matches = false
				break
			}
		}
		if matches {
			return s
		}
	}
	return nil
}

// with returns the variants with one more response, without those that the same requests select.
func (r variants) with(s *storedResponse) variants {
	next := variants{s}
	same := func(name string) []string {
		for i, n := range s.varyNames {
			if n == name {
				return []string{s.varyValues[i]}
			}
		}
		return []string{"\x00"} // matches no request: the older response varies by other fields
	}
	for _, old := range r {
		if len(next) < maxVariants && (variants{old}).match(same) == nil {
			next = append(next, old)
		}
	}
	return next
}

// parseVary returns the canonical field names of Vary. ok is false for "*": no request matches.
func parseVary(h http.Header) (names []string, all bool) {
	for _, line := range h["Vary"] {
		for name := range strings.SplitSeq(line, ",") {
			switch name = strings.Trim(name, " \t"); name {
			case "":
			case "*":
				return nil, false
			default:
				names = append(names, http.CanonicalHeaderKey(name))
			}
		}
	}
	return names, true
}
