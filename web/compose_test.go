package web_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"weir/flow"
	"weir/web"
	"weir/web/internal/webtest"
)

func mark(s string) web.Component {
	return web.Named(s, web.Pipe(func(c *web.Conn) { c.AddHeader("X-Way", s) }))
}

// noTransform is the function of a filter that leaves the body as it is.
func noTransform(*web.Conn) web.Transform { return nil }

func pathIs(p string) func(*web.Conn) bool { return func(c *web.Conn) bool { return c.Path() == p } }

func TestInvalidCompositionIsRejectedWithItsPosition(t *testing.T) {
	once := func(name string) web.Component {
		return web.WithTraits(web.Filter(noTransform), web.Traits{Name: name, OncePerPath: "content coding"})
	}
	named := func(c web.Component) web.Component { return web.WithTraits(c, web.Traits{Position: "site.hcl:7"}) }
	cases := []struct {
		name string
		c    web.Component
		want string
	}{
		{"nothing", web.Chain(), "web: chain: the composition is empty: add a component"},
		{"a source after a source", web.Chain(text("a"), text("b")), "web: chain[2] text: source text comes after the source text"},
		{"a source after a chain with one", web.Chain(web.Chain(mark("m"), text("a")), text("b")), "chain[2] text: source text comes after"},
		{"a source after arms that all have one", web.Chain(web.Branch("fork", nil, text("a"), text("b")), text("c")), ""},
		{"a source after an arm that has one", web.Chain(web.When("js", pathIs("/js"), text("a")), text("b")), ""},
		{"a source after one that passes on", web.Chain(web.WithTraits(text("a"), web.Traits{PassesOn: true}), text("b")), ""},
		{"a source after one that passes on, and another", web.Chain(web.WithTraits(text("a"), web.Traits{PassesOn: true}), text("b"), text("c")), "chain[3] text: source text comes after the source text-2"},
		{"a filter after a source that passes on", web.Chain(web.WithTraits(text("a"), web.Traits{PassesOn: true}), web.Filter(noTransform)), ""},
		{"a filter before any source", web.Chain(web.Filter(noTransform), text("a")), "chain[1] filter: filter filter has no source before it"},
		{"a filter in the arm without a source", web.Chain(web.Branch("fork", nil, text("a"), web.Filter(noTransform))), "chain[1] fork[2] filter: filter filter has no source"},
		{"a filter after a source in one arm", web.Chain(web.When("js", pathIs("/js"), text("a")), web.Filter(noTransform), text("b")), ""},
		{"two compressors", web.Chain(text("a"), once("compress"), once("gzip")), "compress and gzip both do the content coding"},
		{"two compressors, one in an arm", web.Chain(text("a"), web.When("js", pathIs("/js"), once("compress")), once("gzip")), "compress and gzip both do"},
		{"a compressor in each arm", web.Chain(text("a"), web.Branch("fork", nil, once("compress"), once("gzip"))), ""},
		{"a place that is known", web.Chain(text("a"), named(text("b"))), "site.hcl:7: source text comes after the source text"},
		{"a chain under two names", web.Named("a", web.Named("b", web.Chain(web.Filter(noTransform), text("a")))), "filter filter has no source before it"},
		{"a branch under two names", web.Named("a", web.Named("b", web.When("c", nil, web.Filter(noTransform)))), "filter filter has no source before it"},
		{"a chain that blocks", web.Blocking(2, 2, web.Chain(text("a"))), "give the width to the part that blocks"},
		{"a branch that blocks", web.Named("a", web.Blocking(2, 2, web.When("c", nil, text("a")))), "give the width to the part that blocks"},
		{"a name for nothing", web.Chain(text("a"), web.Named("none", nil)), "chain[2] none: this name has no component"},
		{"too many arms", web.Branch("fork", nil, make([]web.Component, 64)...), "it has 64 arms, the maximum is 63"},
	}
	for _, c := range cases {
		for _, way := range []flow.Way{flow.Chain, flow.Network} {
			t.Run(c.name+"/"+string(way), func(t *testing.T) {
				h, err := web.New(c.c, web.Options{Way: way})
				if err == nil {
					defer h.Close()
				}
				if c.want == "" {
					if err != nil {
						t.Errorf("New: got %v, want the composition accepted", err)
					}
					return
				}
				if _, ok := errors.AsType[*web.CompositionError](err); !ok || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, want %q", err, c.want)
				}
			})
		}
	}
}

func TestAnEarlyAnswerSkipsSourcesOnly(t *testing.T) {
	refuse := web.Pipe(func(c *web.Conn) {
		if c.Path() == "/private" {
			c.Reply(403)
		}
	})
	seen := web.Pipe(func(c *web.Conn) {
		b, _ := c.Body().Bytes()
		c.SetHeader("X-Seen", strings.TrimSpace(string(b)))
	})
	upper := web.Filter(func(*web.Conn) web.Transform { return shout })
	c := web.Chain(mark("first"), refuse, text("open"), mark("last"), upper, seen)
	webtest.ServeBothWays(t, c, func(t *testing.T, url string) {
		for path, want := range map[string]string{"/": "OPEN", "/private": "403 FORBIDDEN\n"} {
			resp, body := get(t, url+path)
			if body != want {
				t.Errorf("%s: body %q, want %q", path, body, want)
			}
			if way := strings.Join(resp.Header["X-Way"], " "); way != "first last" {
				t.Errorf("%s: got the way %q, want %q: pipes after the answer run too", path, way, "first last")
			}
			if !strings.EqualFold(resp.Header.Get("X-Seen"), strings.TrimSpace(want)) {
				t.Errorf("%s: a pipe after the filter saw %q, want %q", path, resp.Header.Get("X-Seen"), strings.TrimSpace(want))
			}
		}
	})
}

func TestRoutesFollowTheRulesOfServeMux(t *testing.T) {
	routes, err := web.Routes(
		web.Arm{Pattern: "/", Component: text("all")},
		web.Arm{Pattern: "/js/", Component: text("js")},
		web.Arm{Pattern: "/js/{$}", Component: text("js index")},
		web.Arm{Pattern: "POST /posted/", Component: text("posted")},
		web.Arm{Pattern: "example.org/", Component: text("host")},
		web.Arm{Pattern: "/none/", Component: nil},
	)
	if err != nil {
		t.Fatal(err)
	}
	named := web.Pipe(func(c *web.Conn) { c.SetHeader("X-Route", c.StringValue(web.Route)) })
	webtest.ServeBothWays(t, web.Chain(routes, mark("behind"), named), func(t *testing.T, url string) {
		for path, want := range map[string]string{"/": "all", "/x/y": "all", "/js/a.js": "js", "/js/": "js index", "/none/x": "404 Not Found\n"} {
			resp, body := get(t, url+path)
			if body != want || resp.Header.Get("X-Way") != "behind" {
				t.Errorf("%s: got %q by way of %q, want %q", path, body, resp.Header.Get("X-Way"), want)
			}
			if route := resp.Header.Get("X-Route"); path == "/js/a.js" && route != "/js/" {
				t.Errorf("%s: got the route %q, want /js/", path, route)
			}
		}
	})
}

func TestRoutesAnswerUnmatchedRequestsAsServeMuxDoes(t *testing.T) {
	routes, err := web.Routes(web.Arm{Pattern: "/js/", Component: text("js")}, web.Arm{Pattern: "POST /form", Component: text("form")})
	if err != nil {
		t.Fatal(err)
	}
	webtest.ServeBothWays(t, web.Chain(routes, web.When("other", pathIs("/other"), text("other"))), func(t *testing.T, url string) {
		client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		for path, want := range map[string]string{"/js": "307 /js/ ", "/js?a%2Fb": "307 /js/?a%2Fb ", "//j%73": "307 /js/ ",
			"/js//a?b=c": "200  ", "/j%73/../js//": "200  ", "/x/../%6a%73/./a": "200  ", "/js//a%2F": "400  ",
			"/form": "405  POST", "/none": "404  ", "/other": "200  "} {
			resp, err := client.Get(url + path)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if got := fmt.Sprint(resp.StatusCode, " ", resp.Header.Get("Location"), " ", resp.Header.Get("Allow")); got != want {
				t.Errorf("%s: got %q, want %q", path, got, want)
			}
		}
	})
}

func TestInvalidRoutesAreRejected(t *testing.T) {
	for want, arms := range map[string][]web.Arm{
		`route "nothing"`:                       {{Pattern: "nothing"}},
		`route "/a"`:                            {{Pattern: "/a"}, {Pattern: "/a"}},
		`route "/{x}/b"`:                        {{Pattern: "/a/{y}"}, {Pattern: "/{x}/b"}},
		`route "/{"`:                            {{Pattern: "/{"}},
		`route "/a%2Fb/": no path can match it`: {{Pattern: "/a%2Fb/"}},
		`route "GET /%2e%2e/": no path can match it`:          {{Pattern: "GET /%2e%2e/"}},
		`route "/a\\b": no path can match it`:                 {{Pattern: `/a\b`}},
		`route "a..b/": the host is neither`:                  {{Pattern: "a..b/"}},
		`route "GET a.org:80/x": it has a port, which routes`: {{Pattern: "GET a.org:80/x"}},
		`route "a.org/x"`:                                     {{Pattern: "A.org./x"}, {Pattern: "a.org/x"}},
	} {
		if _, err := web.Routes(arms...); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), ".go:") {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestEmptyArmLeadsBehindTheBranch(t *testing.T) {
	js := web.When("js", pathIs("/js"), mark("in"))
	webtest.ServeBothWays(t, web.Chain(js, text("x"), mark("out")), func(t *testing.T, url string) {
		for path, want := range map[string]string{"/js": "in out", "/": "out"} {
			resp, _ := get(t, url+path)
			if got := strings.Join(resp.Header["X-Way"], " "); got != want {
				t.Errorf("%s went through %q, want %q", path, got, want)
			}
		}
	})
}

// A component can call a composition as a component.
func TestACompositionIsAComponent(t *testing.T) {
	inner := web.Chain(mark("a"), web.Branch("fork", func(c *web.Conn) int { return len(c.Path()) - 1 }, mark("b"), mark("c")))
	c := web.Chain(text("x"), web.Pipe(func(c *web.Conn) { inner.Handle(c) }))
	webtest.ServeBothWays(t, c, func(t *testing.T, url string) {
		for path, want := range map[string]string{"/": "a b", "/1": "a c", "/12": "a"} {
			resp, _ := get(t, url+path)
			if got := strings.Join(resp.Header["X-Way"], " "); got != want {
				t.Errorf("%s went through %q, want %q", path, got, want)
			}
		}
	})
}
