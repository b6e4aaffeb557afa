package cache

import (
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"weir/web"
)

// key is what a request asks for, in canonical form, so that all spellings of a name are one key.
// Both what the client asked for and what earlier components made of it are part of it, since both
// can decide what is answered, and so is the raw path where an upstream may be given it.
type key struct {
	secure                      bool
	host, uri, raw, path, query string
}

func keyOf(c *web.Conn) key {
	raw, _ := c.RawPath()
	return key{c.Secure(), c.Host(), c.RequestURI(), raw, c.Path(), c.RawQuery()}
}

// resource is what is kept under a key: the last first. It does not change.
type resource []*stored

// mostVariants is how many responses are kept for a key.
const mostVariants = 16

// stored is a response that is kept. It does not change, but for updating.
type stored struct {
	vary, values []string // names of fields, and what the request had in them
	status       int
	header       http.Header
	fields       []web.Field // of header
	body         []byte
	control      control
	came         time.Time
	age, life    time.Duration // when it came, and until which age it is fresh
	// when somebody last set out to ask for it again, Unix time in nanoseconds
	updating atomic.Int64
}

func (s *stored) finish() {
	for name, values := range s.header {
		s.fields = append(s.fields, web.NewField(name, strings.Join(values, ", ")))
	}
}

func (s *stored) ageAt(now time.Time) time.Duration { return s.age + max(0, now.Sub(s.came)) }

func (s *stored) cost() int64 {
	n := 1024 + len(s.body)
	for name, values := range s.header {
		n += 64 + len(name)
		for _, v := range values {
			n += 2 * len(v)
		}
	}
	return int64(n)
}

// validator says whether it can be asked for again by what it has.
func (s *stored) validator() bool {
	return s.header.Get("Etag") != "" || s.header.Get("Last-Modified") != ""
}

// answer answers an exchange with it.
func (s *stored) answer(c *web.Conn, now time.Time) {
	for _, f := range s.fields {
		c.SetField(f)
	}
	c.SetHeader("Age", strconv.FormatInt(int64(s.ageAt(now)/time.Second), 10))
	c.SetStatus(s.status)
	c.Answer(web.Bytes(s.body))
}

// valuesOf is what a request has in the fields of these names, in a form in which what means the
// same is the same (section 4.1).
func valuesOf(names []string, header func(string) []string) []string {
	values := make([]string, len(names))
	for i, name := range names {
		values[i] = normal(header(name))
	}
	return values
}

func normal(lines []string) string {
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

// match is the response for a request with these fields, nil when there is none.
func (r resource) match(header func(string) []string) *stored {
	for _, s := range r {
		matches := true
		for i, name := range s.vary {
			if normal(header(name)) != s.values[i] {
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

// with is the resource with one more response, without those that are for the same requests.
func (r resource) with(s *stored) resource {
	next := resource{s}
	same := func(name string) []string {
		for i, n := range s.vary {
			if n == name {
				return []string{s.values[i]}
			}
		}
		return []string{"\x00"} // what no request has: the older one is about other fields
	}
	for _, old := range r {
		if len(next) < mostVariants && (resource{old}).match(same) == nil {
			next = append(next, old)
		}
	}
	return next
}

// varyOf are the names in Vary, canonical. All is false where no request is like another ("*").
func varyOf(h http.Header) (names []string, all bool) {
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
