package basic_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"weir/web"
	"weir/web/components/basic"
)

func ExampleRedirect() {
	moved := must(basic.Redirect(basic.RedirectConfig{From: "/blog/*", To: "https://blog.example.org/{rest}?{query}", Status: 301}))
	ask(web.Chain(moved, basic.Text("home")), "GET /blog/2011/pipes?page=2", "Location")
	ask(web.Chain(moved, basic.Text("home")), "GET /")
	// Output:
	// 301 Moved Permanently
	// Location: https://blog.example.org/2011/pipes?page=2
	// 301 Moved Permanently
	// 200 OK
	// home
}

func TestRedirectSendsItsTarget(t *testing.T) {
	type cfg = basic.RedirectConfig
	for _, c := range []struct {
		name   string
		cfg    basic.RedirectConfig
		target string
		status int
		want   string
	}{
		{"a path", cfg{From: "/old", To: "/new"}, "http://h/old?a=1", 302, "/new"},
		{"another path", cfg{From: "/old", To: "/new"}, "http://h/older", 200, ""},
		{"below a path", cfg{From: "/old/*", To: "/new/{rest}", Status: 308}, "http://h/old/a%20b/c", 308, "/new/a%20b/c"},
		{"the path itself is not below it", cfg{From: "/old/*", To: "/new/{rest}"}, "http://h/old", 200, ""},
		{"all", cfg{To: "https://example.org{path}?{query}", Status: 307}, "http://h/a?b=c", 307, "https://example.org/a?b=c"},
		{"no query", cfg{To: "https://example.org{path}?{query}"}, "http://h/a", 302, "https://example.org/a"},
		{"no query behind another", cfg{To: "/new?from={path}&{query}"}, "http://h/a", 302, "/new?from=/a"},
		{"a path that ends in &", cfg{To: "/new{path}"}, "http://h/a&", 302, "/new/a&"},
		{"to TLS", cfg{HTTPS: true}, "http://example.org:8080/a?b", 308, "https://example.org/a?b"},
		{"by TLS already", cfg{HTTPS: true}, "https://example.org/a?b", 200, ""},
		{"to TLS at another port", cfg{HTTPS: true, To: "https://{host}:8443{path}"}, "http://[::1]:80/a", 308, "https://[::1]:8443/a"},
		{"a host that would lead elsewhere", cfg{HTTPS: true}, "http://example.org@evil/", 400, ""},

		{"//, for the path", cfg{To: "{path}"}, "http://h//evil.example/x", 302, "/evil.example/x"},
		{"//, encoded", cfg{To: "{path}"}, "http://h/%2Fevil.example/", 302, "/evil.example/"},
		{"//, for the rest", cfg{From: "/out/*", To: "/{rest}"}, "http://h/out//evil.example/", 302, "/evil.example/"},
		{"backslashes", cfg{To: "{path}"}, `http://h/%5Cevil.example`, 400, ""},
		{"backslashes behind a slash", cfg{From: "/out/*", To: "/{rest}"}, `http://h/out/%5C%5Cevil.example`, 400, ""},
		{"a tab", cfg{To: "{path}"}, "http://h/%09/evil.example", 400, ""},
		{"a line end", cfg{To: "{path}"}, "http://h/%0D%0ASet-Cookie:%20a=b", 400, ""},
		{"an address in the path", cfg{To: "{path}"}, "http://h/https://evil.example", 302, "/https:/evil.example"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, err := web.New(web.Chain(must(basic.Redirect(c.cfg)), web.Pipe(func(c *web.Conn) {
				if !c.Answered() {
					c.Answer(web.String("passed"))
				}
			})), web.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer h.Close()
			w := httptest.NewRecorder()
			r := httptest.NewRequest("GET", "/", nil)
			u, err := url.Parse(c.target)
			if err != nil {
				t.Fatal(err)
			}
			r.URL.Path, r.URL.RawQuery, r.Host = u.Path, u.RawQuery, u.Host
			if u.User != nil {
				r.Host = u.User.String() + "@" + u.Host
			}
			if u.Scheme == "https" {
				r.TLS = httptest.NewRequest("GET", "https://h/", nil).TLS
			}
			h.ServeHTTP(w, r)
			if got := w.Header().Get("Location"); w.Code != c.status || got != c.want {
				t.Errorf("got %d %q, want %d %q", w.Code, got, c.status, c.want)
			}
		})
	}
}

func TestRedirectRejectsInvalidConfigs(t *testing.T) {
	for part, cfg := range map[string]basic.RedirectConfig{
		`to is "", as is from`:                            {},
		`begin with / or {path}`:                          {From: "/a", To: "evil.example"},
		`"javascript:alert(1)": begin with`:               {To: "javascript:alert(1)"},
		`"{query}": begin with`:                           {To: "{query}"},
		`write https: before the //`:                      {To: "//example.org{path}"},
		`"https://{rest}", which lets`:                    {From: "/a/*", To: "https://{rest}"},
		`"https://example.org{rest}", which`:              {From: "/a/*", To: "https://example.org{rest}"},
		`"https://{path}", which lets`:                    {To: "https://{path}"},
		`{rest}, but from does not end in *`:              {From: "/a", To: "/b/{rest}"},
		`{uri}: write {path}`:                             {To: "/b{uri}"},
		`which has a { without a }`:                       {To: "/b{path"},
		`status is 200`:                                   {To: "/b", Status: 200},
		`from is "a": write a path`:                       {From: "a", To: "/b"},
		`from is "/a*": write a path`:                     {From: "/a*", To: "/b"},
		`to is "/a", as is from: that is a redirect loop`: {From: "/a", To: "/a"},
	} {
		c, err := basic.Redirect(cfg)
		wantError(t, c, err, part)
	}
}

// FuzzRedirect checks that no request is redirected to another host.
func FuzzRedirect(f *testing.F) {
	for _, p := range []string{"/a", "//evil.example", `/\evil.example`, "/\t/evil.example", "/a b", "*", "", "/%", "///"} {
		f.Add(p, "q=1")
	}
	site := func(cfg basic.RedirectConfig) *web.Handler {
		h, err := web.New(must(basic.Redirect(cfg)), web.Options{})
		if err != nil {
			f.Fatal(err)
		}
		f.Cleanup(func() { h.Close() })
		return h
	}
	local := site(basic.RedirectConfig{To: "{path}?{query}"})
	away := site(basic.RedirectConfig{To: "https://example.org{path}?{query}"})
	f.Fuzz(func(t *testing.T, path, query string) {
		for want, h := range map[string]http.Handler{"home.example": local, "example.org": away} {
			asked := httptest.NewRequest("GET", "http://home.example/", nil)
			asked.URL.Path, asked.URL.RawQuery = path, query
			w := httptest.NewRecorder()
			h.ServeHTTP(w, asked)
			if w.Code == 400 { // no path at all
				continue
			}
			u, err := asked.URL.Parse(w.Header().Get("Location"))
			if err != nil || u.Host != want || u.Fragment != "" {
				t.Errorf("got %q %q leads to %q (%v), want host %s", path, query, w.Header().Get("Location"), err, want)
			}
		}
	})
}

// FuzzRedirectTarget checks that with every valid target, path and query do not decide the host.
func FuzzRedirectTarget(f *testing.F) {
	for _, to := range []string{"/a{rest}?{query}", "{path}", "https://{host}{path}", "https://a.example/{rest}", "http://{host}:8080?{query}", "https://a{path}.b", "/{rest}/{path}"} {
		f.Add(to, "/x//evil.example", "@evil.example/")
		f.Add(to, "/x/.evil.example", ":1")
		f.Add(to, "\x00", "0")
		f.Add(to, "../y", "")
	}
	f.Fuzz(func(t *testing.T, to, path, query string) {
		c, err := basic.Redirect(basic.RedirectConfig{From: "/x/*", To: to})
		if err != nil {
			return
		}
		h, err := web.New(c, web.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		// "" when the request is rejected, or has another path
		lead := func(path, query string) string {
			r := httptest.NewRequest("GET", "http://home.example/", nil)
			r.URL.Path, r.URL.RawQuery = "/x/"+path, query
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Header().Get("Location") == "" {
				return ""
			}
			u, err := r.URL.Parse(w.Header().Get("Location"))
			if err != nil {
				return "no address" // the configuration's doing: the host has a space, say
			}
			return u.Scheme + "://" + u.Host
		}
		if plain, other := lead("", ""), lead(path, query); other != "" && plain != other {
			t.Errorf("redirection to %q with path %q and query %q: got the host %s, want %s: a request does not choose it", to, path, query, other, plain)
		}
	})
}
