package web_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/flow"
	"weir/web"
	"weir/web/internal/webtest"
)

// see is a source that shows what components see of the request.
var see = web.Source(func(c *web.Conn) web.Body {
	r := c.HTTPRequest()
	return web.String(strings.Join([]string{c.Host(), c.Path(), c.RequestURI(), r.RequestURI, r.URL.String()}, " "))
})

func TestComponentsSeeCanonicalPathAndHost(t *testing.T) {
	webtest.ServeBothWays(t, see, func(t *testing.T, url string) {
		for line, want := range map[string]string{
			"GET /a/b?q=%2f HTTP/1.1":                        "test /a/b /a/b?q=%2f /a/b?q=%2f /a/b?q=%2f",
			"GET /x/..//%61/./b%3f? HTTP/1.1":                "test /a/b? /a/b%3F? /a/b%3F? /a/b%3F?",
			"GET http://Example.ORG.:80/%61/../b?c HTTP/1.1": "example.org /b /b?c /b?c /b?c",
			"GET http://example.org HTTP/1.1":                "example.org / / / /",
			"GET http://[0:0::1]:81/a HTTP/1.1":              "[::1]:81 /a /a /a /a",
			"GET https://a.b/c HTTP/1.1":                     "a.b /c /c /c /c",
		} {
			if resp, got := webtest.Raw(t, url, line); resp.StatusCode != 200 || got != want {
				t.Errorf("%s: got %d, components see %q, want %q", line, resp.StatusCode, got, want)
			}
		}
	})
}

func TestRequestWithoutCanonicalFormIsAnswered400(t *testing.T) {
	seen := web.Pipe(func(c *web.Conn) { c.SetHeader("X-Seen", c.Path()+" "+c.Target()) })
	webtest.ServeBothWays(t, web.Chain(see, seen), func(t *testing.T, url string) {
		for target, want := range map[string]string{
			"/private%2fplans": "the path has an encoded slash (%2F)", "/%2Fprivate": "the path has an encoded slash", `/a\b`: "the path has a backslash", "/a%5Cb": "the path has a backslash",
			"/a%00": "the path has a control character", "/..;/a": "the path has a dot segment with parameters", "http://a@b/c": "the request target has user information",
			"http:///a": "the request target is not a path", "http://a..b/c": "the host is neither a name nor an address", "http://[fe80::1%25a]/": "the host is an address with a zone",
			"ftp://a/b": "the request target is not a path", "http://a:99999/": "the host has an invalid port",
		} {
			resp, body := webtest.Raw(t, url, "GET "+target+" HTTP/1.1")
			if resp.StatusCode != 400 || !strings.HasPrefix(body, "400 Bad Request: "+want) || !strings.HasSuffix(body, "\n") {
				t.Errorf("%s: got %d %q, want 400 and %q", target, resp.StatusCode, body, want)
			}
			if got := resp.Header.Get("X-Seen"); got != "/ "+target {
				t.Errorf("%s: pipes see %q, want the path / and the target as it was", target, got)
			}
		}
		if resp, body := webtest.Raw(t, url, "get / HTTP/1.1"); resp.StatusCode != 400 || !strings.Contains(body, "methods are case-sensitive") {
			t.Errorf("a method in small letters: got %d %q, want 400", resp.StatusCode, body)
		}
		if resp, _ := webtest.Raw(t, url, "GET /a%zz HTTP/1.1"); resp.StatusCode != 400 {
			t.Errorf("invalid percent encoding: got %d, want 400", resp.StatusCode)
		}
	})
}

// Requests that an HTTP/2 engine accepts. Over HTTP/1 they are rejected earlier.
func TestInvalidHTTP2PseudoHeadersAreAnswered400(t *testing.T) {
	h, err := web.New(see, web.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for name, change := range map[string]func(*http.Request){
		"a path in :authority":       func(r *http.Request) { r.Host = "example.org/private" },
		"a query in :authority":      func(r *http.Request) { r.Host = "example.org?" },
		"a user in :authority":       func(r *http.Request) { r.Host = "ann@example.org" },
		"another host in Host":       func(r *http.Request) { r.Header.Set("Host", "other.org") },
		"two Hosts":                  func(r *http.Request) { r.Header["Host"] = []string{"example.org", "example.org"} },
		"an absolute :path":          func(r *http.Request) { r.URL.Scheme, r.URL.Host = "http", "other.org" },
		"an opaque :path":            func(r *http.Request) { r.URL.Scheme, r.URL.Opaque, r.URL.Path = "http", "a", "" },
		"a * that is not of OPTIONS": func(r *http.Request) { r.URL.Path = "*" },
		"a fragment":                 func(r *http.Request) { r.URL.Path, r.URL.RawPath = "/a#b", "/a#b" },
		"a space in the query":       func(r *http.Request) { r.URL.RawQuery = "a HTTP/1.1" },
		"a fragment of the query":    func(r *http.Request) { r.URL.RawQuery = "a#b" },
	} {
		r := httptest.NewRequest("GET", "https://example.org/", nil)
		r.URL.Scheme, r.URL.Host = "", ""
		r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/2.0", 2, 0
		change(r)
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != 400 {
			t.Errorf("%s: got %d %q, want 400", name, w.Code, w.Body)
		}
	}
}

func TestAuthorityAndAsteriskFormAreAccepted(t *testing.T) {
	h, err := web.New(see, web.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for target, want := range map[string]string{"OPTIONS *": "204 ", "CONNECT example.org:443": "200 example.org:443 / / / /"} {
		method, uri, _ := strings.Cut(target, " ")
		r := httptest.NewRequest(method, uri, nil)
		r.TLS = nil
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if got := http.StatusText(w.Code); w.Code != 200 && w.Code != 204 {
			t.Errorf("%s: got %d %s, want 200 or 204", target, w.Code, got)
		}
		if got := w.Result().Status[:4] + w.Body.String(); method == "OPTIONS" && got != want {
			t.Errorf("%s: got %q, want %q", target, got, want)
		}
	}
}

func TestRoutesMatchHostsInEverySpelling(t *testing.T) {
	routes, err := web.Routes(web.Arm{Pattern: "Admin.Example.org./", Component: text("admin")}, web.Arm{Pattern: "[::1]/", Component: text("six")}, web.Arm{Pattern: "/", Component: text("all")})
	if err != nil {
		t.Fatal(err)
	}
	for _, way := range []flow.Way{flow.Chain, flow.Network} {
		h, err := web.New(routes, web.Options{Way: way})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		for host, want := range map[string]string{
			"admin.example.org": "admin", "Admin.Example.ORG": "admin", "admin.example.org.": "admin", "admin.example.org:80": "admin", "ADMIN.example.org.:8080": "admin", "admin.example.org:": "admin",
			"[::1]": "six", "[::1]:80": "six", "[0:0:0:0:0:0:0:1]:8080": "six", "example.org": "all", "xadmin.example.org": "all", "": "all",
		} {
			for _, method := range []string{"GET", "CONNECT"} {
				r := httptest.NewRequest("GET", "/x", nil)
				r.Host, r.Method = host, method
				w := httptest.NewRecorder()
				if h.ServeHTTP(w, r); w.Body.String() != want {
					t.Errorf("%s of host %q goes to %q, want %q", method, host, w.Body, want)
				}
			}
		}
	}
}

func TestAnEncodedSlashCountsAsOneWhereAComponentNeedsTheRawPath(t *testing.T) {
	raw := web.WithTraits(web.Source(func(c *web.Conn) web.Body {
		path, ok := c.RawPath()
		if !ok {
			path = "refused"
		}
		return web.String("raw " + path)
	}), web.Traits{RawPath: true})
	rewrite := web.Pipe(func(c *web.Conn) { c.Rewrite("/to/../x", "") })
	routes, err := web.Routes(web.Arm{Pattern: "/", Component: raw}, web.Arm{Pattern: "/private/", Component: text("private")}, web.Arm{Pattern: "/rewritten/", Component: web.Chain(rewrite, raw)})
	if err != nil {
		t.Fatal(err)
	}
	webtest.ServeBothWays(t, web.Named("site", routes), func(t *testing.T, url string) {
		for target, want := range map[string]string{
			"/@a%2fb": "raw /@a%2fb", "/a/b": "raw ", "/%41": "raw /%41", "/private%2fplans": "private", "/x%2f..%2fprivate%2fplans": "private", "/x%2f..%2fy": "raw refused", "//y": "raw refused",
			"/rewritten/a": "raw ", "/rewritten/a%2fb": "raw refused", "/private%5cplans": "400 Bad Request: the path has a backslash\n",
		} {
			if _, got := webtest.Raw(t, url, "GET "+target+" HTTP/1.1"); got != want {
				t.Errorf("%s: got %q, want %q", target, got, want)
			}
		}
	})
}

func TestPathParametersBypassNoRoute(t *testing.T) {
	routes, err := web.Routes(web.Arm{Pattern: "/", Component: see}, web.Arm{Pattern: "/private/", Component: text("private")}, web.Arm{Pattern: "/plans", Component: text("plans")},
		web.Arm{Pattern: "/odd;a/", Component: text("odd")})
	if err != nil {
		t.Fatal(err)
	}
	webtest.ServeBothWays(t, web.Named("site", routes), func(t *testing.T, url string) {
		for target, want := range map[string]int{
			"/private;x/plans": 400, "/private%3Bx/plans": 400, "/private;/plans": 400, "/private;x": 400, "/;x/private/plans": 400, "/x;y/../private;z/plans": 400, "/plans;x": 400,
			"/private/plans;x": 200, "/private/;x/plans": 200, "/page;jsessionid=1": 200, "/a;b/c;d": 200, "/odd;a/x": 200,
		} {
			resp, body := webtest.Raw(t, url, "GET "+target+" HTTP/1.1")
			if resp.StatusCode != want || want == 400 && !strings.HasPrefix(body, "400 Bad Request: the path has parameters") {
				t.Errorf("%s: got %d %q, want %d", target, resp.StatusCode, body, want)
			}
		}
	})
	alone, err := web.Routes(web.Arm{Pattern: "/private/", Component: text("private")})
	if err != nil {
		t.Fatal(err)
	}
	webtest.ServeBothWays(t, web.Chain(alone, see), func(t *testing.T, url string) {
		for target, want := range map[string]int{"/private;x": 400, "/private;x/": 400, "/other;x": 200} {
			if resp, _ := webtest.Raw(t, url, "GET "+target+" HTTP/1.1"); resp.StatusCode != want {
				t.Errorf("%s, with a source behind the routes: got %d, want %d", target, resp.StatusCode, want)
			}
		}
	})
}
