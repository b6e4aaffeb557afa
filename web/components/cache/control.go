package cache

import (
	"math"
	"net/textproto"
	"strconv"
	"strings"
	"time"
)

// control is what the fields Cache-Control say (RFC 9111 section 5.2). Times are -1 where they are
// not said.
type control struct {
	noStore, noCache, onlyIfCached                              bool
	private, public, mustRevalidate, mustUnderstand             bool
	maxAge, sMaxAge, minFresh, maxStale, staleWhileRevalidating time.Duration
}

// parseControl reads the lines of Cache-Control. "Cache directives are identified by a token, to be
// compared case-insensitively"; of one that comes twice the first counts (section 4.2.1).
func parseControl(lines []string) control {
	c := control{maxAge: -1, sMaxAge: -1, minFresh: -1, maxStale: -1, staleWhileRevalidating: -1}
	for _, line := range lines {
		for line != "" {
			var name, value string
			name, value, line = directive(line)
			c.set(strings.ToLower(name), value)
		}
	}
	return c
}

func (c *control) set(name, value string) {
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
		first(&c.maxAge, value)
	case "s-maxage":
		first(&c.sMaxAge, value)
	case "min-fresh":
		first(&c.minFresh, value)
	case "stale-while-revalidate":
		first(&c.staleWhileRevalidating, value)
	case "max-stale":
		if value == "" {
			value = strconv.Itoa(most)
		}
		first(&c.maxStale, value)
	}
}

func first(d *time.Duration, value string) {
	if *d < 0 {
		*d = seconds(value)
	}
}

// most is what a number too large to be represented stands for (section 1.2.2).
const most = math.MaxInt32

// seconds reads delta-seconds. What is none is 0: "caches are encouraged to consider responses that
// have invalid freshness information to be stale" (section 4.2.1).
func seconds(s string) time.Duration {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n > most {
		n = most
	}
	return time.Duration(n) * time.Second
}

// directive cuts the first directive off a list: a token, and what stands behind "=", as a token or
// quoted.
func directive(s string) (name, value, rest string) {
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
