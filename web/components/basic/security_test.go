package basic_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"weir/web"
	"weir/web/components/basic"
	"weir/web/internal/webtest"
)

func ExampleSecurity() {
	site := web.Chain(must(basic.Security(basic.SecurityConfig{})), basic.Text("hello"))
	ask(site, "GET https://example.org/", "X-Content-Type-Options", "Content-Security-Policy", "Referrer-Policy", "Strict-Transport-Security")
	// Output:
	// 200 OK
	// X-Content-Type-Options: nosniff
	// Content-Security-Policy: frame-ancestors 'self'
	// Referrer-Policy: strict-origin-when-cross-origin
	// Strict-Transport-Security: max-age=31536000
	// hello
}

func TestSecuritySetsItsFields(t *testing.T) {
	for _, c := range []struct {
		name   string
		cfg    basic.SecurityConfig
		secure bool
		want   map[string]string
	}{
		{"without TLS", basic.SecurityConfig{}, false, map[string]string{"Strict-Transport-Security": "", "X-Content-Type-Options": "nosniff"}},
		{"with subdomains", basic.SecurityConfig{HSTS: "1h", Subdomains: true}, true, map[string]string{"Strict-Transport-Security": "max-age=3600; includeSubDomains"}},
		{"off", basic.SecurityConfig{HSTS: "off", FrameAncestors: "off", Referrer: "off"}, true, map[string]string{
			"Strict-Transport-Security": "", "Content-Security-Policy": "", "Referrer-Policy": "", "X-Content-Type-Options": "nosniff"}},
		{"others", basic.SecurityConfig{FrameAncestors: "'none'", Referrer: "no-referrer"}, false, map[string]string{
			"Content-Security-Policy": "frame-ancestors 'none'", "Referrer-Policy": "no-referrer"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, err := web.New(web.Chain(must(basic.Security(c.cfg)), basic.Text("x")), web.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer h.Close()
			target := map[bool]string{false: "http://example.org/", true: "https://example.org/"}[c.secure]
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest("GET", target, nil))
			for name, want := range c.want {
				if got := w.Header().Get(name); got != want {
					t.Errorf("%s: got %q, want %q", name, got, want)
				}
			}
		})
	}
	for part, cfg := range map[string]basic.SecurityConfig{
		"security: hsts is":            {HSTS: "a year"},
		"security: referrer is":        {Referrer: "a\nb"},
		"security: frame_ancestors is": {FrameAncestors: "\x7f"},
	} {
		c, err := basic.Security(cfg)
		wantError(t, c, err, part)
	}
}

// An exchange that fails keeps the fields that were set before.
func TestSecurityFieldsAreSetOnFailures(t *testing.T) {
	site := web.Chain(must(basic.Security(basic.SecurityConfig{})), web.Pipe(func(*web.Conn) { panic("no") }))
	webtest.ServeBothWays(t, site, func(t *testing.T, url string) {
		if resp, _ := webtest.Get(t, url); resp.StatusCode != http.StatusInternalServerError || resp.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("got %d %v, want 500 with the fields", resp.StatusCode, resp.Header)
		}
	})
}
