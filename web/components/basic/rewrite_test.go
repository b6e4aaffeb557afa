package basic_test

import (
	"net/http/httptest"
	"path"
	"strings"
	"testing"

	"weir/web"
	"weir/web/components/basic"
	"weir/web/internal/webtest"
)

func ExampleRewrite() {
	strip := must(basic.Rewrite(basic.RewriteConfig{StripPrefix: "/app"}))
	page := must(basic.Rewrite(basic.RewriteConfig{Pattern: `/articles/(\d+)`, To: "/article?id=$1"}))
	see := echo(func(c *web.Conn) string { return c.Path() + " " + c.RawQuery() })
	ask(web.Chain(strip, page, see), "GET /app/articles/4")
	// Output:
	// 200 OK
	// /article id=4
}

func TestRewriteChangesThePathForWhatFollows(t *testing.T) {
	type cfg = basic.RewriteConfig
	for _, c := range []struct {
		name         string
		cfg          basic.RewriteConfig
		target, want string
	}{
		{"exact", cfg{From: "/", To: "/index.html"}, "/?a=1", "/index.html?a=1"},
		{"exact, another", cfg{From: "/a", To: "/b"}, "/a/", "/a/?"},
		{"exact is no expression", cfg{From: "/a.b", To: "/$1"}, "/a.b", "/$1?"},
		{"a group", cfg{Pattern: "/u/([a-z]+)", To: "/users/$1/"}, "/u/ann?x", "/users/ann/?x"},
		{"whole paths only", cfg{Pattern: "/u", To: "/v"}, "/u/ann", "/u/ann?"},
		{"a group with a name", cfg{Pattern: "/(?P<lang>de|en)/(.*)", To: "/$2?lang=${lang}&{query}"}, "/de/a/b?x=1", "/a/b?lang=de&x=1"},
		{"a group in a query", cfg{Pattern: "/(.*)", To: "/find?q=$1"}, "/a&b=c%20", "/find?q=a%26b%3Dc+"},
		{"a group that is not there", cfg{Pattern: "/a(b)?", To: "/x$1?y=$1"}, "/a", "/x?y="},
		{"a group cannot climb", cfg{Pattern: "/get/(.*)", To: "/files/$1"}, "/get/%2e%2e/%2e%2e/secret", "/secret?"},

		{"strip", cfg{StripPrefix: "/app"}, "/app/x/?q", "/x/?q"},
		{"strip all", cfg{StripPrefix: "/app/"}, "/app", "/?"},
		{"strip no part of a name", cfg{StripPrefix: "/app"}, "/apple", "/apple?"},
		{"strip no way around", cfg{StripPrefix: "/app"}, "/app/%2e%2e/private", "/private?"},
		{"strip nothing into //", cfg{StripPrefix: "/app"}, "/app//host/x", "/host/x?"},
		{"add", cfg{AddPrefix: "/v1"}, "/x", "/v1/x?"},
		{"add, and dot segments cannot leave it", cfg{AddPrefix: "/v1"}, "/../../x", "/v1/x?"},
		{"both", cfg{StripPrefix: "/a", AddPrefix: "/b"}, "/a/x", "/b/x?"},
		{"both, another", cfg{StripPrefix: "/a", AddPrefix: "/b"}, "/c/x", "/c/x?"},
	} {
		t.Run(c.name, func(t *testing.T) {
			see := echo(func(c *web.Conn) string { return c.Path() + "?" + c.RawQuery() })
			webtest.ServeBothWays(t, web.Chain(must(basic.Rewrite(c.cfg)), see), func(t *testing.T, url string) {
				if _, body := webtest.Get(t, url+c.target); body != c.want {
					t.Errorf("got %q, want %q", body, c.want)
				}
			})
		})
	}
}

func TestRewriteRejectsInvalidConfigs(t *testing.T) {
	for part, cfg := range map[string]basic.RewriteConfig{
		"set from or pattern with to":      {},
		"two changes are two components":   {From: "/a", To: "/b", AddPrefix: "/c"},
		"from and pattern are both set":    {From: "/a", Pattern: "/b", To: "/c"},
		"to is empty":                      {From: "/a"},
		"to is set, but neither":           {AddPrefix: "/a", To: "/b"},
		"pattern: error parsing regexp":    {Pattern: "(", To: "/b"},
		`strip_prefix is "a": write a pat`: {StripPrefix: "a"},
		`add_prefix is "/a/../b": write a`: {AddPrefix: "/a/../b"},
	} {
		c, err := basic.Rewrite(cfg)
		wantError(t, c, err, part)
	}
}

// FuzzRewrite checks that no path of a client leaves a prefix that was added.
func FuzzRewrite(f *testing.F) {
	for _, p := range []string{"/", "/..", "//x", "/a/../../b", "/a/.", "..", `\..\x`, "/a//"} {
		f.Add(p)
	}
	h, err := web.New(web.Chain(must(basic.Rewrite(basic.RewriteConfig{StripPrefix: "/app", AddPrefix: "/some/dir"})),
		must(basic.Rewrite(basic.RewriteConfig{AddPrefix: "/site"})), echo((*web.Conn).Path)), web.Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { h.Close() })
	f.Fuzz(func(t *testing.T, p string) {
		r := httptest.NewRequest("GET", "/", nil)
		r.URL.Path = p
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		got := w.Body.String()
		if w.Code == 400 { // no path at all
			return
		}
		if plain := strings.TrimSuffix(got, "/"); !strings.HasPrefix(got, "/site/") || path.Clean(plain) != plain {
			t.Errorf("%q: got %q, want a clean path below /site/", p, got)
		}
	})
}
