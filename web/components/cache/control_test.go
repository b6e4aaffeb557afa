package cache

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestParseControl(t *testing.T) {
	none := cacheControl{maxAge: -1, sMaxAge: -1, minFresh: -1, maxStale: -1, staleWhileRevalidate: -1}
	with := func(f func(*cacheControl)) cacheControl { c := none; f(&c); return c }
	for text, want := range map[string]cacheControl{
		"":                                     none,
		" , ,":                                 none,
		"unknown, x=\"no-store\"":              none,
		"no-store":                             with(func(c *cacheControl) { c.noStore = true }),
		"No-Store":                             with(func(c *cacheControl) { c.noStore = true }),
		"max-age=10":                           with(func(c *cacheControl) { c.maxAge = 10 * time.Second }),
		"max-age = 10":                         with(func(c *cacheControl) { c.maxAge = 10 * time.Second }),
		`max-age="10"`:                         with(func(c *cacheControl) { c.maxAge = 10 * time.Second }),
		"max-age=10,max-age=20":                with(func(c *cacheControl) { c.maxAge = 10 * time.Second }),
		"max-age=-1":                           with(func(c *cacheControl) { c.maxAge = 0 }),
		"max-age":                              with(func(c *cacheControl) { c.maxAge = 0 }),
		"max-age=99999999999999999999":         with(func(c *cacheControl) { c.maxAge = maxDeltaSeconds * time.Second }),
		"max-stale":                            with(func(c *cacheControl) { c.maxStale = maxDeltaSeconds * time.Second }),
		"max-stale=5, min-fresh=6":             with(func(c *cacheControl) { c.maxStale, c.minFresh = 5*time.Second, 6*time.Second }),
		`private="a, no-store", public`:        with(func(c *cacheControl) { c.private, c.public = true, true }),
		`x="a\", no-store", no-cache`:          with(func(c *cacheControl) { c.noCache = true }),
		`x="unclosed, no-store`:                none,
		"proxy-revalidate\t,must-understand":   with(func(c *cacheControl) { c.mustRevalidate, c.mustUnderstand = true, true }),
		"s-maxage=1, stale-while-revalidate=2": with(func(c *cacheControl) { c.sMaxAge, c.staleWhileRevalidate = time.Second, 2*time.Second }),
		"only-if-cached":                       with(func(c *cacheControl) { c.onlyIfCached = true }),
	} {
		if got := parseControl([]string{text}); got != want {
			t.Errorf("%s: got %+v, want %+v", text, got, want)
		}
	}
}

// render formats directives so that parseControl reads the same ones.
func (c cacheControl) render() string {
	var parts []string
	for name, said := range map[string]bool{
		"no-store": c.noStore, "no-cache": c.noCache, "only-if-cached": c.onlyIfCached, "private": c.private, "public": c.public,
		"must-revalidate": c.mustRevalidate, "must-understand": c.mustUnderstand,
	} {
		if said {
			parts = append(parts, name)
		}
	}
	for name, d := range map[string]time.Duration{
		"max-age": c.maxAge, "s-maxage": c.sMaxAge, "min-fresh": c.minFresh, "max-stale": c.maxStale, "stale-while-revalidate": c.staleWhileRevalidate,
	} {
		if d >= 0 {
			parts = append(parts, fmt.Sprintf("%s=%d", name, d/time.Second))
		}
	}
	return strings.Join(parts, ", ")
}

func FuzzControl(f *testing.F) {
	for _, s := range []string{"max-age=10, no-store", `private="a, b"; x`, `x="\`, "=,=,\"", "max-stale"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c := parseControl([]string{s})
		if again := parseControl([]string{c.render()}); again != c {
			t.Fatalf("%q: got %+v, but from the rendered %q %+v; want the same", s, c, c.render(), again)
		}
	})
}
