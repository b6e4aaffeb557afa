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

// hasPrecondition reports whether the request has a precondition that applies to the response.
func (c *Conn) hasPrecondition() bool {
	if c.status != http.StatusOK || c.orig.Method != http.MethodGet && c.orig.Method != http.MethodHead {
		return false
	}
	h := c.orig.Header
	return h["If-None-Match"] != nil || h["If-Modified-Since"] != nil || h["If-Match"] != nil || h["If-Unmodified-Since"] != nil
}

// evaluatePreconditions evaluates the preconditions in the order of RFC 9110, section 13.2.2. A
// condition on a validator that the response does not have is skipped: the source may have
// evaluated it.
func (c *Conn) evaluatePreconditions() {
	h := c.orig.Header
	tag, modified := firstValue(c.header["Etag"]), parseTime(firstValue(c.header["Last-Modified"]))
	if match := h["If-Match"]; match != nil && tag != "" {
		if !anyTagMatches(match, tag, strongMatch) {
			c.setAnswer(c.StatusBody(http.StatusPreconditionFailed))
			c.setBodyFields()
			return
		}
	} else if since := parseTime(firstValue(h["If-Unmodified-Since"])); match == nil && !since.IsZero() && !modified.IsZero() && modified.After(since) {
		c.setAnswer(c.StatusBody(http.StatusPreconditionFailed))
		c.setBodyFields()
		return
	}
	if match := h["If-None-Match"]; match != nil {
		if tag != "" && anyTagMatches(match, tag, weakMatch) {
			c.removeBody(http.StatusNotModified)
		}
	} else if since := parseTime(firstValue(h["If-Modified-Since"])); !since.IsZero() && !modified.IsZero() && !modified.After(since) {
		c.removeBody(http.StatusNotModified)
	}
}

// ifRangeHolds reports whether If-Range permits to send the range (RFC 9110, section 13.1.5).
func (c *Conn) ifRangeHolds() bool {
	v := c.orig.Header.Get("If-Range")
	switch {
	case v == "":
		return true
	case strings.HasPrefix(v, `"`) || strings.HasPrefix(v, "W/"):
		return strongMatch(v, firstValue(c.header["Etag"]))
	}
	since, modified := parseTime(v), parseTime(firstValue(c.header["Last-Modified"]))
	return !since.IsZero() && since.Equal(modified)
}

// strongMatch reports whether two entity tags match by strong comparison (RFC 9110, section
// 8.8.3.2).
func strongMatch(a, b string) bool { return a == b && strings.HasPrefix(a, `"`) }

// weakMatch reports whether two entity tags match by weak comparison (RFC 9110, section 8.8.3.2).
func weakMatch(a, b string) bool { return strings.TrimPrefix(a, "W/") == strings.TrimPrefix(b, "W/") }

// anyTagMatches reports whether a list of entity tags has one that equals tag. A list ends at the
// first malformed member.
func anyTagMatches(lists []string, tag string, equal func(a, b string) bool) bool {
	for _, list := range lists {
		for {
			list = textproto.TrimString(strings.TrimLeft(list, ", \t"))
			if list == "*" {
				return true
			}
			one, rest, ok := cutEntityTag(list)
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

// cutEntityTag cuts the first entity tag off a list (RFC 9110, section 8.8.3).
func cutEntityTag(s string) (tag, rest string, ok bool) {
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

// singleRange parses a request for exactly one range of a body of size bytes. n is 0 if the range
// is not satisfiable; ok is false for everything else.
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

// normalizeRanges removes list members that select nothing: empty ones, and suffixes of 0 bytes,
// for which net/http would send a part that ends before it starts. If nothing is left, the result
// is the unsatisfiable "-0". It returns nil if a member is malformed.
func normalizeRanges(value string) []string {
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

// parseNumber parses 1*DIGIT. A number beyond int64 becomes the largest int64.
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

func firstValue(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

// parseTime parses the date of a field. It returns the zero time if there is none.
func parseTime(s string) time.Time {
	if s == "" {
		return time.Time{}
	}
	t, err := http.ParseTime(s)
	if err != nil {
		return time.Time{}
	}
	return t
}

// hasToken reports whether comma-separated lists contain a name, in any case.
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
