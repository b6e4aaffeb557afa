package cache

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/flow"
	"weir/web"
)

// rules are requirements of RFC 9111, in its words but shortened, each with a script. A line of a
// script is one of
//
//	origin STATUS FIELD: VALUE; ... the origin answers this from now on, with the body v1, v2, ...
//	wait DURATION                     advances the clock
//	METHOD [/PATH] [FIELD: VALUE; ...] = OUTCOME [BODY [FIELD: VALUE]]
//
// The last is a request and what its response must be: a body (none for HEAD), and a header field.
// The outcomes are
//
//	miss       the cache forwarded the request, and the origin sent a full response
//	hit        the cache answered without a request to the origin
//	confirmed  the cache sent a conditional request, and the origin answered it by 304
//	a status   the response has this status; where it came from does not matter
var rules = []struct{ section, says, script string }{
	{"2", "a cache's key is the method and target URI", `
		origin 200 Cache-Control: max-age=10
		GET /a = miss v1
		GET /b = miss v1
		GET /a?q = miss v1
		GET /a = hit v1
		GET /a?q = hit v1`},
	{"3", "the no-store cache directive is not present in the response", `
		origin 200 Cache-Control: max-age=10, no-store
		GET = miss v1
		GET = miss v1`},
	{"3", "if the cache is shared: the private response directive is either not present or allows a shared cache to store the response", `
		origin 200 Cache-Control: private, max-age=10
		GET = miss v1
		GET = miss v1`},
	{"3", "the response status code is final (and understood by the cache)", `
		origin 299 Cache-Control: max-age=10
		GET = miss v1
		GET = miss v1`},
	{"3", "the response contains at least one of: public, Expires, max-age, s-maxage", `
		origin 200
		GET = miss v1
		GET = miss v1
		origin 404 Cache-Control: max-age=10
		GET = miss v2
		GET = hit v2`},
	{"3.2", "the cache MUST update its header fields in the stored response with each in the provided response", `
		origin 200 Cache-Control: max-age=10; ETag: "a"; X-Field: one
		GET = miss v1
		wait 11s
		origin 304 Cache-Control: max-age=100; ETag: "a"; X-Field: two
		GET = confirmed v1
		wait 50s
		GET = hit v1 X-Field: two`},
	{"3.5", "a shared cache MUST NOT use a cached response to a request with an Authorization header field", `
		origin 200 Cache-Control: max-age=10
		GET Authorization: Basic eA== = miss v1
		GET = miss v1
		GET = hit v1`},
	{"3.5", "unless the response contains a Cache-Control field with a response directive that allows it to be stored: must-revalidate, public, and s-maxage", `
		origin 200 Cache-Control: max-age=10, public
		GET Authorization: Basic eA== = miss v1
		GET = hit v1`},
	{"4", "the request does not contain the no-cache directive, unless the stored response is successfully validated", `
		origin 200 Cache-Control: max-age=10; ETag: "a"
		GET = miss v1
		GET Cache-Control: no-cache = confirmed v1
		GET Pragma: no-cache = confirmed v1
		GET = hit v1`},
	{"4", "the stored response does not contain the no-cache directive, unless it is successfully validated", `
		origin 200 Cache-Control: max-age=10, no-cache; ETag: "a"
		GET = miss v1
		GET = confirmed v1`},
	{"4", "when presented with a request, a cache can use a response to GET for HEAD", `
		origin 200 Cache-Control: max-age=10
		GET = miss v1
		HEAD = hit`},
	{"4.1", "the cache MUST NOT use that stored response without revalidation unless all the presented request header fields nominated by that Vary field value match", `
		origin 200 Cache-Control: max-age=10; Vary: Accept-Language
		GET Accept-Language: de = miss v1
		GET Accept-Language: en = miss v1
		GET Accept-Language: de = hit v1
		GET Accept-Language: en = hit v1
		GET = miss v1
		GET = hit v1`},
	{"4.1", "two requests match if one can be transformed to the other by adding or removing whitespace, where allowed in the header field's syntax", `
		origin 200 Cache-Control: max-age=10; Vary: Accept-Language
		GET Accept-Language: de,en = miss v1
		GET Accept-Language: de ,  en = hit v1`},
	{"4.1", "a stored response with a Vary header field value containing a member \"*\" always fails to match", `
		origin 200 Cache-Control: max-age=10; Vary: *
		GET = miss v1
		GET = miss v1`},
	{"4.2", "response_is_fresh = (freshness_lifetime > current_age)", `
		origin 200 Cache-Control: max-age=10
		GET = miss v1
		wait 9s
		GET = hit v1 Age: 9
		wait 1s
		GET = miss v1`},
	{"4.2.1", "if the cache is shared and the s-maxage response directive is present, use its value", `
		origin 200 Cache-Control: max-age=100, s-maxage=10
		GET = miss v1
		wait 11s
		GET = miss v1`},
	{"4.2.1", "if the Expires response header field is present, use its value minus the value of the Date response header field", `
		origin 200 Date: Sat, 01 Jan 2000 00:00:00 GMT; Expires: Sat, 01 Jan 2000 00:00:10 GMT
		GET = miss v1
		wait 9s
		GET = hit v1
		wait 2s
		GET = miss v1`},
	{"4.2.1", "when there is more than one value present for a given directive, either the first occurrence should be used or the response should be considered stale", `
		origin 200 Cache-Control: max-age=10, max-age=100
		GET = miss v1
		wait 11s
		GET = miss v1`},
	{"4.2.1", "caches are encouraged to consider responses that have invalid freshness information to be stale", `
		origin 200 Cache-Control: max-age=ten
		GET = miss v1
		GET = miss v1`},
	{"4.2.3", "corrected_age_value = age_value + response_delay", `
		origin 200 Cache-Control: max-age=10; Age: 7
		GET = miss v1
		wait 2s
		GET = hit v1 Age: 9
		wait 2s
		GET = miss v1`},
	{"4.2.3", "apparent_age = max(0, response_time - date_value)", `
		origin 200 Cache-Control: max-age=10; Date: Fri, 31 Dec 1999 23:59:52 GMT
		GET = miss v1
		wait 1s
		GET = hit v1 Age: 9
		wait 1s
		GET = miss v1`},
	{"4.2.4", "a cache MUST NOT generate a stale response if it is prohibited by an explicit in-protocol directive: must-revalidate, proxy-revalidate, s-maxage", `
		origin 200 Cache-Control: max-age=10, must-revalidate
		GET = miss v1
		wait 11s
		GET Cache-Control: max-stale = miss v1
		origin 200 Cache-Control: s-maxage=10
		GET /s = miss v2
		wait 11s
		GET /s Cache-Control: max-stale = miss v2`},
	{"4.3.1", "generating a conditional request with the entity tag of the stored response", `
		origin 200 Cache-Control: max-age=10; ETag: "a"
		GET = miss v1
		wait 11s
		GET = confirmed v1
		wait 9s
		GET = hit v1`},
	{"4.3.1", "using the Last-Modified value in If-Modified-Since", `
		origin 200 Cache-Control: max-age=10; Last-Modified: Fri, 31 Dec 1999 00:00:00 GMT
		GET = miss v1
		wait 11s
		GET = confirmed v1`},
	{"4.3.2", "a cache that has a fresh response evaluates the client's conditions itself", `
		origin 200 Cache-Control: max-age=10; ETag: "a"
		GET = miss v1
		GET If-None-Match: "a" = 304
		GET If-None-Match: "b" = hit v1
		GET Range: bytes=1-1 = 206`},
	{"4.3.3", "a full response indicates that none of the stored responses is suitable; the cache MUST use the full response", `
		origin 200 Cache-Control: max-age=10; ETag: "a"
		GET = miss v1
		wait 11s
		origin 200 Cache-Control: max-age=10; ETag: "b"
		GET = miss v2
		GET = hit v2`},
	{"4.4", "a cache MUST invalidate the target URI when it receives a non-error status code in response to an unsafe request method", `
		origin 200 Cache-Control: max-age=100
		GET = miss v1
		POST = miss v1
		GET = miss v1
		DELETE = miss v1
		GET = miss v1
		GET = hit v1
		OPTIONS = miss v1
		GET = hit v1
		origin 500
		POST = 500
		GET = hit v1`},
	{"5.2.1.1", "max-age: the client prefers a response whose age is less than or equal to the specified number of seconds", `
		origin 200 Cache-Control: max-age=100
		GET = miss v1
		wait 11s
		GET Cache-Control: max-age=20 = hit v1
		GET Cache-Control: max-age=10 = miss v1`},
	{"5.2.1.2", "max-stale: a response that has exceeded its freshness lifetime by no more than the specified number of seconds", `
		origin 200 Cache-Control: max-age=10
		GET = miss v1
		wait 15s
		GET Cache-Control: max-stale=5 = hit v1
		GET Cache-Control: max-stale = hit v1
		GET Cache-Control: max-stale=4 = miss v1`},
	{"5.2.1.3", "min-fresh: a response whose freshness lifetime is no less than its current age plus the specified time", `
		origin 200 Cache-Control: max-age=10
		GET = miss v1
		wait 5s
		GET Cache-Control: min-fresh=5 = hit v1
		GET Cache-Control: min-fresh=6 = miss v1`},
	{"5.2.1.5", "no-store: a cache MUST NOT store any part of either this request or any response to it", `
		origin 200 Cache-Control: max-age=10
		GET Cache-Control: no-store = miss v1
		GET = miss v1
		GET = hit v1`},
	{"5.2.1.7", "only-if-cached: either respond using a stored response or with a 504 (Gateway Timeout) status code", `
		origin 200 Cache-Control: max-age=10
		GET Cache-Control: only-if-cached = 504
		GET = miss v1
		GET Cache-Control: only-if-cached = hit v1
		wait 11s
		GET Cache-Control: only-if-cached = 504`},
	{"5.2.2.3", "must-understand: SHOULD ignore the no-store directive if the cache understands and implements the status code's caching requirements", `
		origin 200 Cache-Control: max-age=10, must-understand, no-store
		GET = miss v1
		GET = hit v1`},
	{"5.3", "a cache recipient MUST interpret invalid date formats, especially the value \"0\", as representing a time in the past", `
		origin 200 Expires: 0; ETag: "a"
		GET = miss v1
		GET = confirmed v1`},
	{"5.3", "if a response includes max-age, a recipient MUST ignore the Expires header field", `
		origin 200 Cache-Control: max-age=10; Expires: 0
		GET = miss v1
		GET = hit v1`},
	{"7.3", "(cookies: this cache is stricter, and stores no response with Set-Cookie)", `
		origin 200 Cache-Control: max-age=10; Set-Cookie: a=b
		GET = miss v1
		GET = miss v1`},
	{"RFC 5861 3", "(stale-while-revalidate: this cache serves the stale response only while another request revalidates it)", `
		origin 200 Cache-Control: max-age=10, stale-while-revalidate=10
		GET = miss v1
		wait 11s
		GET = miss v1`},
}

// origin is the component inside the cache.
type origin struct {
	status  int
	fields  [][2]string
	version int
	calls   int
	// the last request was conditional and its validator matched: it was answered by 304
	confirmed bool
}

func (o *origin) source(stream bool) web.Component {
	return web.Source(func(c *web.Conn) web.Body {
		o.calls++
		for _, f := range o.fields {
			c.SetHeader(f[0], f[1])
		}
		c.SetStatus(o.status)
		tag, since := c.RequestHeader("If-None-Match"), c.RequestHeader("If-Modified-Since")
		o.confirmed = tag != "" && tag == c.Header("Etag") || tag == "" && since != "" && since == c.Header("Last-Modified")
		if o.confirmed {
			c.SetStatus(304)
		}
		if c.Status() == 304 {
			return web.Body{}
		}
		body := fmt.Sprintf("v%d", o.version)
		if stream {
			return web.Stream(-1, func(w io.Writer) error { _, err := io.WriteString(w, body); return err })
		}
		return web.String(body)
	})
}

func parseFields(s string) (fields [][2]string) {
	for f := range strings.SplitSeq(s, "; ") {
		if name, value, ok := strings.Cut(strings.TrimSpace(f), ": "); ok {
			fields = append(fields, [2]string{name, value})
		}
	}
	return fields
}

// play runs a script. If stream is set, the origin's bodies are streams of unknown length.
func play(t *testing.T, script string, way flow.Way, stream bool) {
	t.Helper()
	now := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	k, err := newCache(Config{})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex // guards now: the cache reads it, the script sets it
	k.now = func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	o := &origin{}
	h, err := web.New(k.around(o.source(stream)), web.Options{Way: way})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for line := range strings.SplitSeq(strings.TrimSpace(script), "\n") {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "wait":
			d, err := time.ParseDuration(rest)
			if err != nil {
				t.Fatal(err)
			}
			mu.Lock()
			now = now.Add(d)
			mu.Unlock()
		case "origin":
			o.version++
			if _, err := fmt.Sscan(rest, &o.status); err != nil {
				t.Fatal(err)
			}
			o.fields = parseFields(rest[3:])
		default:
			// The separator is the last "= ": fields may contain "=", but not followed by a blank.
			i := strings.LastIndex(rest, "= ")
			request(t, h, o, word, rest[:i], rest[i+2:], line)
		}
	}
}

// request sends a request of a script and checks the response. want is what follows the "=" in
// line.
func request(t *testing.T, h http.Handler, o *origin, method, fields, want, line string) {
	t.Helper()
	target := "/"
	if strings.HasPrefix(fields, "/") {
		target, fields, _ = strings.Cut(fields, " ")
	}
	r := httptest.NewRequest(method, "http://test"+target, nil)
	for _, f := range parseFields(fields) {
		r.Header.Set(f[0], f[1])
	}
	w := httptest.NewRecorder()
	before := o.calls
	h.ServeHTTP(w, r)
	resp := w.Result()
	body, _ := io.ReadAll(resp.Body)
	outcome := "miss"
	switch {
	case o.calls == before:
		outcome = "hit"
	case o.confirmed || o.status == 304:
		outcome = "confirmed"
	}
	got := strings.TrimSpace(outcome + " " + string(body))
	words := strings.SplitN(want, " ", 3)
	expected := strings.Join(words[:min(2, len(words))], " ")
	if _, err := strconv.Atoi(words[0]); err == nil { // a status
		got = fmt.Sprint(resp.StatusCode)
		expected = words[0]
	}
	if got != expected {
		t.Errorf("%s: got %s (%d %v), want %s (RFC 9111)", strings.TrimSpace(line), got, resp.StatusCode, resp.Header, expected)
	}
	if len(words) == 3 {
		if f := parseFields(words[2]); len(f) != 1 || resp.Header.Get(f[0][0]) != f[0][1] {
			t.Errorf("%s: got fields %v, want %s", strings.TrimSpace(line), resp.Header, words[2])
		}
	}
}

func TestRFC9111(t *testing.T) {
	for _, r := range rules {
		t.Run(strings.ReplaceAll(r.section+" "+r.says, "/", " "), func(t *testing.T) {
			play(t, r.script, flow.Chain, false)
			play(t, r.script, flow.Network, false)
			play(t, r.script, flow.Chain, true)
		})
	}
}
