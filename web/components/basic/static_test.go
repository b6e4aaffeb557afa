package basic_test

import (
	"testing"

	"weir/web/components/basic"
	"weir/web/internal/webtest"
)

func ExampleStatic() {
	robots := must(basic.Static(basic.StaticConfig{
		Text:    "User-agent: *\nDisallow: /private/",
		Headers: map[string]string{"Cache-Control": "max-age=3600"},
	}))
	ask(robots, "GET /robots.txt", "Content-Type", "Cache-Control")
	// Output:
	// 200 OK
	// Content-Type: text/plain; charset=utf-8
	// Cache-Control: max-age=3600
	// User-agent: *
	// Disallow: /private/
}

func TestStaticAnswersWithItsResponse(t *testing.T) {
	for _, c := range []struct {
		name   string
		cfg    basic.StaticConfig
		status int
		kind   string
		body   string
		tag    bool
	}{
		{"nothing", basic.StaticConfig{}, 200, "text/plain; charset=utf-8", "", true},
		{"a type", basic.StaticConfig{Text: "{}", Type: "application/json"}, 200, "application/json", "{}", true},
		{"a file", basic.StaticConfig{File: file(t, "a.html", "<p>")}, 200, "text/html; charset=utf-8", "<p>", true},
		{"a file without a name that tells", basic.StaticConfig{File: file(t, "a", "%PDF-1.4")}, 200, "application/pdf", "%PDF-1.4", true},
		{"another status", basic.StaticConfig{Status: 410, Text: "gone"}, 410, "text/plain; charset=utf-8", "gone", false},
		{"no body", basic.StaticConfig{Status: 204}, 204, "", "", false},
		{"a tag of its own", basic.StaticConfig{Headers: map[string]string{"ETag": `"1"`, "X-Of": "it"}}, 200, "text/plain; charset=utf-8", "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			webtest.ServeBothWays(t, must(basic.Static(c.cfg)), func(t *testing.T, url string) {
				resp, body := webtest.Get(t, url)
				if resp.StatusCode != c.status || body != c.body || resp.Header.Get("Content-Type") != c.kind || (resp.Header.Get("ETag") != "") != c.tag {
					t.Errorf("got %d %q %v, want the response of the case", resp.StatusCode, body, resp.Header)
				}
				for name, value := range c.cfg.Headers {
					if got := resp.Header.Get(name); got != value {
						t.Errorf("%s: got %q, want %q", name, got, value)
					}
				}
			})
		})
	}
}

func TestStaticRejectsInvalidConfigs(t *testing.T) {
	for part, cfg := range map[string]basic.StaticConfig{
		"static: status is 100":                      {Status: 100},
		"static: status is 304, which has no":        {Status: 304, Text: "x"},
		"static: text and file are both set":         {Text: "x", File: "y"},
		"static: file: open no-such-file":            {File: "no-such-file"},
		"static: type is":                            {Type: "a\nb"},
		"static: headers has \"a b\"":                {Headers: map[string]string{"a b": ""}},
		"static: headers has an invalid value for X": {Headers: map[string]string{"X": "a\r\nb"}},
		"static: headers has content-length":         {Headers: map[string]string{"content-length": "3"}},
		"static: headers has Host, which is":         {Headers: map[string]string{"Host": "h"}},
		"static: headers has Transfer-Encodin":       {Headers: map[string]string{"Transfer-Encoding": "chunked"}},
	} {
		c, err := basic.Static(cfg)
		wantError(t, c, err, part)
	}
}
