package basic_test

import (
	"strings"
	"testing"

	"weir/web"
	"weir/web/components/basic"
	"weir/web/internal/webtest"
)

func ExampleHeaders() {
	headers := must(basic.Headers(basic.HeadersConfig{
		Set:           map[string]string{"Cache-Control": "no-cache"},
		RequestDelete: []string{"Cookie"},
	}))
	ask(web.Chain(headers, basic.Text("hello")), "GET /", "Cache-Control")
	// Output:
	// 200 OK
	// Cache-Control: no-cache
	// hello
}

func TestHeadersChangeTheResponseAtTheirPlace(t *testing.T) {
	source := web.Source(func(c *web.Conn) web.Body {
		c.SetHeader("X-Kind", "source")
		c.AddHeader("X-List", "source")
		c.SetHeader("X-Secret", "s")
		return web.String("body")
	})
	cfg := basic.HeadersConfig{
		Set:    map[string]string{"x-kind": "headers"},
		Add:    map[string]string{"X-List": "headers"},
		Delete: []string{"x-secret"},
	}
	last := cfg
	last.Last = true
	headers := must(basic.Headers(cfg))
	for _, c := range []struct {
		name               string
		site               web.Component
		kind, list, secret string
	}{
		{"before the source", web.Chain(headers, source), "source", "headers,source", "s"},
		{"behind the source", web.Chain(source, headers), "headers", "source,headers", ""},
		{"last", web.Chain(must(basic.Headers(last)), source), "headers", "source,headers", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			webtest.ServeBothWays(t, c.site, func(t *testing.T, url string) {
				for range 2 { // what was made once is not changed by its first use
					resp, _ := webtest.Get(t, url)
					h := resp.Header
					if h.Get("X-Kind") != c.kind || strings.Join(h.Values("X-List"), ",") != c.list || h.Get("X-Secret") != c.secret {
						t.Errorf("got %v, want the fields of the case", h)
					}
				}
			})
		})
	}
}

func TestHeadersChangeTheRequestForLaterComponents(t *testing.T) {
	headers := must(basic.Headers(basic.HeadersConfig{
		RequestSet:    map[string]string{"X-From": "headers"},
		RequestAdd:    map[string]string{"X-List": "headers"},
		RequestDelete: []string{"Authorization"},
	}))
	see := echo(func(c *web.Conn) string {
		return c.RequestHeader("X-From") + ";" + strings.Join(c.RequestHeaders("X-List"), ",") + ";" + c.RequestHeader("Authorization")
	})
	webtest.ServeBothWays(t, web.Chain(headers, see), func(t *testing.T, url string) {
		if _, body := webtest.Get(t, url, "X-From", "client", "X-List", "client", "Authorization", "x"); body != "headers;client,headers;" {
			t.Errorf("got %q, want the fields of the configuration", body)
		}
	})
}

func TestHeadersRejectsInvalidConfigs(t *testing.T) {
	for part, cfg := range map[string]basic.HeadersConfig{
		"headers: set has":                          {Set: map[string]string{"": "x"}},
		"headers: add has Connection, which":        {Add: map[string]string{"Connection": "close"}},
		"headers: delete has \"a:\"":                {Delete: []string{"a:"}},
		"headers: request_set has Host":             {RequestSet: map[string]string{"host": "x"}},
		"headers: request_add has an invalid value": {RequestAdd: map[string]string{"X": "\x00"}},
		"headers: request_delete has":               {RequestDelete: []string{" "}},
	} {
		c, err := basic.Headers(cfg)
		wantError(t, c, err, part)
	}
}
