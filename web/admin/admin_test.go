package admin

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/flow"
	"weir/flow/draw"
	"weir/web"
	"weir/web/components/metrics"
	"weir/web/internal/webtest"
)

func pipe(name string) web.Component { return web.Named(name, web.Pipe(func(*web.Conn) {})) }

func source(name string) web.Component {
	return web.Named(name, web.Source(func(*web.Conn) web.Body { return web.String("hello") }))
}

// figure3 is a server with a private area, a compressed part, and the rest.
func figure3(t *testing.T) web.Component {
	t.Helper()
	private := web.Branch("password", func(c *web.Conn) int {
		if c.RequestHeader("Authorization") != "" {
			return 0
		}
		return 1
	}, source("private files"), web.Named("refused", web.Pipe(func(c *web.Conn) { c.Reply(401) })))
	shrink := web.Named("compress", web.Filter(func(*web.Conn) web.Transform { return nil }))
	slow := web.Blocking(4, 8, source("reports by a program"))
	arms, err := web.Routes(
		web.Arm{Pattern: "/private/", Component: private},
		web.Arm{Pattern: "/js/", Component: web.Chain(source("files"), shrink)},
		web.Arm{Pattern: "/reports/", Component: slow},
		web.Arm{Pattern: "/", Component: source("pages")},
	)
	if err != nil {
		t.Fatal(err)
	}
	return web.Chain(pipe("access log"), arms, pipe("headers"))
}

// running starts a composition and the admin handler that shows it.
func running(t *testing.T, way flow.Way, c web.Component) (site, admin *httptest.Server) {
	t.Helper()
	h, err := web.New(c, web.Options{Way: way})
	if err != nil {
		t.Fatal(err)
	}
	a, err := New(Config{Source: func() []metrics.Site { return []metrics.Site{{Name: "example", Site: h}} }, Metrics: metrics.New(), Hosts: []string{"weir.example"}})
	if err != nil {
		t.Fatal(err)
	}
	site, admin = httptest.NewServer(h), httptest.NewServer(a)
	t.Cleanup(func() { admin.Close(); site.Close(); h.Close() })
	return site, admin
}

func TestReportDescribesSitesStagesAndEdges(t *testing.T) {
	webtest.EachWay(t, func(t *testing.T, way flow.Way) {
		site, admin := running(t, way, figure3(t))
		webtest.Get(t, site.URL+"/js/x.js")
		_, body := webtest.Get(t, admin.URL+"/api/topology")
		var r struct {
			AtNS  int64 `json:"at_ns"`
			Sites []struct {
				Name, Way string
				Active    *int
				Stages    []flow.StageStats
				Edges     []struct{ From, To, Full, Label string }
				Layout    draw.Layout
			}
		}
		if err := json.Unmarshal([]byte(body), &r); err != nil {
			t.Fatal(err)
		}
		s := r.Sites[0]
		if s.Name != "example" || s.Way != string(way) || s.Active == nil || r.AtNS <= 0 {
			t.Errorf("report: want the site example with its model, active exchanges and a time, got\n%s", body)
		}
		if len(s.Layout.Nodes) != len(s.Stages)+1 || s.Layout.Exit != len(s.Stages) || len(s.Edges) == 0 || s.Edges[0].Full != "wait" {
			t.Errorf("report: want a node for each stage and one for the exit, and edges whose full is wait, got\n%s", body)
		}
		patterns := map[string]string{}
		for _, e := range s.Edges {
			patterns[e.To] = e.Label
		}
		if patterns["files"] != "/js/" || patterns["pages"] != "/" || patterns["compress"] != "" {
			t.Errorf("got the labels %q of edges, want the patterns of the routes", patterns)
		}
	})
}

func TestServedFilesAndHeaders(t *testing.T) {
	_, admin := running(t, flow.Chain, figure3(t))
	for path, want := range map[string]struct{ kind, text string }{
		"/":                                 {"text/html", "page.js"},
		"/page.js":                          {"text/javascript", "api/topology"},
		"/draw.js":                          {"text/javascript", "svg"},
		"/page.css":                         {"text/css", "prefers-color-scheme"},
		"/metrics":                          {"text/plain", `weir_stage_items_total{site="example",stage="pages"}`},
		"/debug/pprof/":                     {"text/html", "goroutine"},
		"/debug/pprof/goroutine?debug=1":    {"text/plain", "goroutine profile"},
		"/debug/pprof/cmdline":              {"text/plain", "admin.test"},
		"/debug/pprof/profile?seconds=1":    {"application/octet-stream", ""},
		"/debug/pprof/trace?seconds=0.0001": {"application/octet-stream", ""},
	} {
		resp, body := webtest.Get(t, admin.URL+path)
		if resp.StatusCode != 200 || !strings.HasPrefix(resp.Header.Get("Content-Type"), want.kind) || !strings.Contains(body, want.text) {
			t.Errorf("%s: got %d %s, want %+v", path, resp.StatusCode, resp.Header.Get("Content-Type"), want)
		}
	}
	// A path may be redirected first, which this client follows.
	for _, path := range []string{"/nothing", "/page", "/page/", "/page/page.js", "/../admin.go"} {
		if resp, _ := webtest.Fetch(t, http.DefaultClient, "GET", admin.URL+path, nil); resp.StatusCode != 404 {
			t.Errorf("%s: got %d, want 404", path, resp.StatusCode)
		}
	}
}

func TestForeignRequestsAreRejected(t *testing.T) {
	_, admin := running(t, flow.Chain, figure3(t))
	for _, c := range []struct {
		about, method, path, host string
		header                    []string
		status                    int
	}{
		{"the address", "GET", "/", "", nil, 200},
		{"localhost", "GET", "/api/topology", "localhost:9090", nil, 200},
		{"localhost, in other letters", "GET", "/api/topology", "LocalHost.", nil, 200},
		{"IPv6", "GET", "/api/topology", "[::1]:9090", nil, 200},
		{"a name that was given", "GET", "/api/topology", "weir.example:80", nil, 200},
		{"a name that another site has resolve to here", "GET", "/api/topology", "evil.example", nil, 421},
		{"a name that looks like ours", "GET", "/", "localhost.evil.example:9090", nil, 421},
		{"a name that looks like an address", "GET", "/", "127.0.0.1.evil.example", nil, 421},
		{"HEAD", "HEAD", "/", "", nil, 200},
		{"POST", "POST", "/debug/pprof/symbol", "", nil, 405},
		{"OPTIONS of a preflight", "OPTIONS", "/api/topology", "", []string{"Origin", "https://evil.example"}, 405},
		{"a request of the page itself", "GET", "/api/topology", "", []string{"Sec-Fetch-Site", "same-origin"}, 200},
		{"a request of another site's page", "GET", "/debug/pprof/profile", "", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"an image of another site's page", "GET", "/", "", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"}, 403},
		{"another port's page", "GET", "/metrics", "", []string{"Sec-Fetch-Site", "same-site"}, 403},
		{"a link from another site", "GET", "/", "", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}, 200},
		{"a link to a profile", "GET", "/debug/pprof/profile", "", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}, 403},
	} {
		resp, _ := webtest.Do(t, c.method, admin.URL+c.path, nil, append([]string{"Host", c.host}, c.header...)...)
		if resp.StatusCode != c.status {
			t.Errorf("%s: got %d, want %d", c.about, resp.StatusCode, c.status)
		}
		if resp.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: got Access-Control-Allow-Origin %q, want none: other sites may not read the response", c.about, resp.Header.Get("Access-Control-Allow-Origin"))
		}
	}
}

func TestInvalidConfigIsRejected(t *testing.T) {
	if _, err := New(Config{}); err == nil || !strings.Contains(err.Error(), "Source is not set") {
		t.Errorf("got %v, want an error that names Source", err)
	}
	m := metrics.New()
	none := func() []metrics.Site { return nil }
	if err := m.Watch(none); err != nil {
		t.Fatal(err)
	}
	if _, err := New(Config{Source: none, Metrics: m}); err == nil {
		t.Error("New with metrics that are in use already: got no error, want one")
	}
}

func TestReportIncludesUpstreams(t *testing.T) {
	h, err := web.New(source("page"), web.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	up := metrics.Upstream{Proxy: "app", Name: "http://a", State: "down", Requests: 3, Failures: 2, Last: "connection refused"}
	a, err := New(Config{Source: func() []metrics.Site { return []metrics.Site{{Name: "s", Site: h, Upstreams: []metrics.Upstream{up}}} }})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "/api/topology", nil)
	r.Host = "localhost"
	a.ServeHTTP(w, r)
	var report struct {
		Sites []struct{ Upstreams []metrics.Upstream }
	}
	if err := json.Unmarshal(w.Body.Bytes(), &report); err != nil {
		t.Fatal(err)
	}
	if got := report.Sites[0].Upstreams; len(got) != 1 || got[0] != up {
		t.Errorf("got %+v, want %+v", got, up)
	}
}
