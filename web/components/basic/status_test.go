package basic_test

import (
	"testing"

	"weir/web"
	"weir/web/components/basic"
	"weir/web/internal/webtest"
)

func ExampleStatus() {
	ask(must(basic.Status(basic.StatusConfig{Code: 451})), "GET /book")
	// Output:
	// 451 Unavailable For Legal Reasons
	// 451 Unavailable For Legal Reasons
}

func TestStatusAnswersWithItsStatus(t *testing.T) {
	for _, c := range []struct {
		name string
		cfg  basic.StatusConfig
		kind string
		body string
	}{
		{"canned", basic.StatusConfig{Code: 403}, "text/plain; charset=utf-8", "403 Forbidden\n"},
		{"without a name", basic.StatusConfig{Code: 499}, "text/plain; charset=utf-8", "499 \n"},
		{"a page", basic.StatusConfig{Code: 403, Text: "<h1>{status}: {reason}</h1>", Type: "text/html"}, "text/html", "<h1>403: Forbidden</h1>"},
		{"a file", basic.StatusConfig{Code: 403, File: file(t, "no.html", "<p>no")}, "text/html; charset=utf-8", "<p>no"},
		{"no body", basic.StatusConfig{Code: 204, Text: "for nobody"}, "", ""},
		{"no body, canned", basic.StatusConfig{Code: 304}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			webtest.ServeBothWays(t, web.Chain(must(basic.Status(c.cfg))), func(t *testing.T, url string) {
				resp, body := webtest.Get(t, url)
				if resp.StatusCode != c.cfg.Code || resp.Header.Get("Content-Type") != c.kind || body != c.body {
					t.Errorf("got %d %q %q, want the response of the case", resp.StatusCode, resp.Header.Get("Content-Type"), body)
				}
			})
		})
	}
	for part, cfg := range map[string]basic.StatusConfig{
		"status: code is 0":  {},
		"status: code is 99": {Code: 99},
		"status: file":       {Code: 404, File: "no-such-file"},
	} {
		c, err := basic.Status(cfg)
		wantError(t, c, err, part)
	}
}
