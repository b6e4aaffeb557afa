package web

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
	"time"
)

// conditional says whether the request has a condition that the response can be held against.
func (c *Conn) conditional() bool {
	if c.status != http.StatusOK || c.orig.Method != http.MethodGet && c.orig.Method != http.MethodHead {
		return false
	}
	h := c.orig.Header
	return h["If-None-Match"] != nil || h["If-Modified-Since"] != nil || h["If-Match"] != nil || h["If-Unmodified-Since"] != nil
}

// condition evaluates the preconditions in the order of RFC 9110 section 13.2.2. A response without
// a validator is not held against conditions on it: its source may have done that.
func (c *Conn) condition() {
	h := c.orig.Header
	tag, modified := first(c.header["Etag"]), httpTime(first(c.header["Last-Modified"]))
	if match := h["If-Match"]; match != nil && tag != "" {
		if !listed(match, tag, strong) {
			c.answer(c.Canned(http.StatusPreconditionFailed))
			c.describe()
			return
		}
	} else if since := httpTime(first(h["If-Unmodified-Since"])); match == nil && !since.IsZero() && !modified.IsZero() && modified.After(since) {
		c.answer(c.Canned(http.StatusPreconditionFailed))
		c.describe()
		return
	}
	if match := h["If-None-Match"]; match != nil {
		if tag != "" && listed(match, tag, weak) {
			c.drop(http.StatusNotModified)
		}
	} else if since := httpTime(first(h["If-Modified-Since"])); !since.IsZero() && !modified.IsZero() && !modified.After(since) {
		c.drop(http.StatusNotModified)
	}
}

// ifRange says whether the range holds for what the client has (RFC 9110 section 13.1.5).
func (c *Conn) ifRange() bool {
	v := c.orig.Header.Get("If-Range")
	switch {
	case v == "":
		return true
	case strings.HasPrefix(v, `"`) || strings.HasPrefix(v, "W/"):
		return strong(v, first(c.header["Etag"]))
	}
	since, modified := httpTime(v), httpTime(first(c.header["Last-Modified"]))
	return !since.IsZero() && since.Equal(modified)
}

// strong and weak are the comparisons of entity tags of RFC 9110 section 8.8.3.2.
func strong(a, b string) bool { return a == b && strings.HasPrefix(a, `"`) }

func weak(a, b string) bool { return strings.TrimPrefix(a, "W/") == strings.TrimPrefix(b, "W/") }

// listed says whether a list of entity tags has one that is equal to tag. A malformed list ends
// where it is.
func listed(lists []string, tag string, equal func(a, b string) bool) bool {
	for _, list := range lists {
		for {
			list = textproto.TrimString(strings.TrimLeft(list, ", \t"))
			if list == "*" {
				return true
			}
			one, rest, ok := entityTag(list)
			if !ok {
				break
			}
			if equal(one, tag) {
				return true
			}
			list = rest
		}
	}
	return false
}

// entityTag cuts the first entity tag off a list (RFC 9110 section 8.8.3).
func entityTag(s string) (tag, rest string, ok bool) {
	start := 0
	if strings.HasPrefix(s, "W/") {
		start = 2
	}
	if len(s) <= start || s[start] != '"' {
		return "", "", false
	}
	end := strings.IndexByte(s[start+1:], '"')
	if end < 0 {
		return "", "", false
	}
	end += start + 2
	for _, b := range []byte(s[start+1 : end-1]) {
		if b < 0x21 || b == 0x7f {
			return "", "", false
		}
	}
	return s[:end], s[end:], true
}

// singleRange is the range of a request for exactly one range of a body of size bytes; n is 0 when
// it can't be satisfied.
func singleRange(values []string, size int64) (from, n int64, ok bool) {
	if len(values) != 1 {
		return 0, 0, false
	}
	spec, isBytes := strings.CutPrefix(values[0], "bytes=")
	first, last, isRange := strings.Cut(textproto.TrimString(spec), "-")
	if !isBytes || !isRange || strings.Contains(spec, ",") {
		return 0, 0, false
	}
	if first == "" {
		n, err := parseNumber(last)
		if err != nil || size == 0 {
			return 0, 0, false
		}
		n = min(n, size)
		return size - n, n, true
	}
	from, err := parseNumber(first)
	if err != nil || size == 0 {
		return 0, 0, false
	}
	end := size - 1
	if last != "" {
		if end, err = parseNumber(last); err != nil || end < from {
			return 0, 0, false
		}
		end = min(end, size-1)
	}
	if from >= size {
		return 0, 0, true
	}
	return from, end - from + 1, true
}

// rangeSet is a list of ranges without what asks for nothing: empty members, and the last 0 bytes,
// of which net/http would send a part that ends before it begins. A list of nothing else asks for
// the last 0 bytes. It is nil when a member is malformed.
func rangeSet(value string) []string {
	spec, _ := strings.CutPrefix(value, "bytes=")
	var kept []string
	for part := range strings.SplitSeq(spec, ",") {
		if part = textproto.TrimString(part); part == "" {
			continue
		}
		first, last, isRange := strings.Cut(part, "-")
		from, err := parseNumber(cmp.Or(first, "0"))
		to, err2 := parseNumber(cmp.Or(last, "0"))
		switch {
		case !isRange || first+last == "" || err != nil || err2 != nil || first != "" && last != "" && to < from:
			return nil
		case first != "" || to > 0:
			kept = append(kept, part)
		}
	}
	if kept == nil {
		kept = []string{"-0"}
	}
	return []string{"bytes=" + strings.Join(kept, ",")}
}

// parseNumber reads 1*DIGIT; what is larger than any size is the largest number.
func parseNumber(s string) (int64, error) {
	n, err := strconv.ParseUint(s, 10, 63)
	if errors.Is(err, strconv.ErrRange) {
		return math.MaxInt64, nil
	}
	return int64(n), err
}

func contentRange(from, n, size int64) string {
	return fmt.Sprintf("bytes %d-%d/%d", from, from+n-1, size)
}

func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

// httpTime is the time that a field gives, zero when it gives none.
func httpTime(s string) time.Time {
	if s == "" {
		return time.Time{}
	}
	t, err := http.ParseTime(s)
	if err != nil {
		return time.Time{}
	}
	return t
}

// hasToken says whether a comma-separated list has a name, in any case.
func hasToken(lists []string, name string) bool {
	for _, list := range lists {
		for token := range strings.SplitSeq(list, ",") {
			if strings.EqualFold(textproto.TrimString(token), name) {
				return true
			}
		}
	}
	return false
}
