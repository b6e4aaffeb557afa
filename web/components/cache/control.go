package cache

import (
	"math"
	"net/textproto"
	"strconv"
	"strings"
	"time"
)

// cacheControl holds the directives of Cache-Control (RFC 9111, section 5.2). Durations are -1
// where the directive is absent.
type cacheControl struct {
	noStore, noCache, onlyIfCached                            bool
	private, public, mustRevalidate, mustUnderstand           bool
	maxAge, sMaxAge, minFresh, maxStale, staleWhileRevalidate time.Duration
}

// parseControl parses the lines of Cache-Control. "Cache directives are identified by a token, to
// be compared case-insensitively"; the first of duplicates counts (section 4.2.1).
func parseControl(lines []string) cacheControl {
	c := cacheControl{maxAge: -1, sMaxAge: -1, minFresh: -1, maxStale: -1, staleWhileRevalidate: -1}
	for _, line := range lines {
		for line != "" {
			var name, value string
			name, value, line = nextDirective(line)
			c.set(strings.ToLower(name), value)
		}
	}
	return c
}

func (c *cacheControl) set(name, value string) {
	switch name {
	case "no-store":
		c.noStore = true
	case "no-cache":
		c.noCache = true
	case "only-if-cached":
		c.onlyIfCached = true
	case "private":
		c.private = true
	case "public":
		c.public = true
	case "must-revalidate", "proxy-revalidate":
		c.mustRevalidate = true
	case "must-understand":
		c.mustUnderstand = true
	case "max-age":
		setFirst(&c.maxAge, value)
	case "s-maxage":
		setFirst(&c.sMaxAge, value)
	case "min-fresh":
		setFirst(&c.minFresh, value)
	case "stale-while-revalidate":
		setFirst(&c.staleWhileRevalidate, value)
	case "max-stale":
		if value == "" {
			value = strconv.Itoa(maxDeltaSeconds)
		}
		setFirst(&c.maxStale, value)
	}
}

func setFirst(d *time.Duration, value string) {
	if *d < 0 {
		*d = deltaSeconds(value)
	}
}

// maxDeltaSeconds replaces a number too large to be represented (section 1.2.2).
const maxDeltaSeconds = math.MaxInt32

// deltaSeconds parses delta-seconds. An invalid value is 0: "caches are encouraged to consider
// responses that have invalid freshness information to be stale" (section 4.2.1).
func deltaSeconds(s string) time.Duration {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n > maxDeltaSeconds {
		n = maxDeltaSeconds
	}
	return time.Duration(n) * time.Second
}

// nextDirective cuts the first directive off a list: a token, and the token or quoted string after
// "=".
func nextDirective(s string) (name, value, rest string) {
	s = strings.TrimLeft(s, ", \t")
	end := strings.IndexAny(s, "=,")
	if end < 0 || s[end] == ',' {
		name, rest, _ = strings.Cut(s, ",")
		return textproto.TrimString(name), "", rest
	}
	name, s = textproto.TrimString(s[:end]), strings.TrimLeft(s[end+1:], " \t")
	if !strings.HasPrefix(s, `"`) {
		value, rest, _ = strings.Cut(s, ",")
		return name, textproto.TrimString(value), rest
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '"':
			_, rest, _ = strings.Cut(s[i+1:], ",")
			return name, b.String(), rest
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		b.WriteByte(s[i])
	}
	return name, b.String(), ""
}
