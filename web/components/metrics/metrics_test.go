package metrics_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/flow"
	"weir/web"
	"weir/web/components/metrics"
	"weir/web/internal/webtest"
)

// scrape is what the handler serves: values by name and labels.
func scrape(t *testing.T, m *metrics.Metrics) map[string]float64 {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("GET /metrics: got %d %s, want 200", w.Code, w.Body)
	}
	values := map[string]float64{}
	for line := range strings.Lines(w.Body.String()) {
		if line[0] == '#' {
			continue
		}
		i := strings.LastIndexByte(line, ' ')
		v, err := strconv.ParseFloat(strings.TrimSpace(line[i+1:]), 64)
		if err != nil {
			t.Fatalf("line %q: got %v, want a number at its end", line, err)
		}
		values[line[:i]] = v
	}
	return values
}

// server is a composition with what is counted, in a site that is watched.
func server(t *testing.T, way flow.Way) (m *metrics.Metrics, url string) {
	t.Helper()
	m = metrics.New()
	route := web.Pipe(func(c *web.Conn) { c.SetValue(web.Route, "a") })
	page := web.Named("page", web.Source(func(c *web.Conn) web.Body {
		switch c.Path() {
		case "/gone":
			return c.StatusBody(http.StatusGone)
		case "/panic":
			panic("no")
		}
		return web.String("hello")
	}))
	h, err := web.New(web.Chain(m.Component(), web.Named("route", route), page), web.Options{Way: way})
	if err != nil {
		t.Fatal(err)
	}
	both := func() []metrics.Site { return []metrics.Site{{Name: "s", Site: h}, {Name: "s", Site: h}} }
	if err := m.Watch(both); err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	t.Cleanup(func() { s.Close(); h.Close() })
	return m, s.URL
}

func TestRequestsAreCountedByRouteAndClass(t *testing.T) {
	webtest.EachWay(t, func(t *testing.T, way flow.Way) {
		m, url := server(t, way)
		for _, path := range []string{"/", "/", "/gone", "/panic"} {
			webtest.Get(t, url+path)
		}
		for name, want := range map[string]float64{
			`weir_http_requests_total{class="2xx",route="a"}`:                   2,
			`weir_http_requests_total{class="4xx",route="a"}`:                   1,
			`weir_http_requests_total{class="5xx",route="a"}`:                   1,
			`weir_http_requests_total{class="none",route="a"}`:                  0,
			`weir_http_request_duration_seconds_count{route="a"}`:               4,
			`weir_http_response_bytes_total{route="a"}`:                         2*5 + 9 + 26,
			`weir_http_requests_in_flight`:                                      0,
			`weir_site_exchanges_active{site="s"}`:                              0,
			`weir_stage_items_total{site="s",stage="route"}`:                    4,
			`weir_stage_items_total{site="s",stage="page"}`:                     4,
			`weir_stage_failed_total{site="s",stage="page"}`:                    1,
			`weir_edge_items_total{from="",port="0",site="s",to="metrics"}`:     4,
			`weir_edge_items_total{from="route",port="0",site="s",to="page"}`:   4,
			`weir_edge_depth{from="route",port="0",site="s",to="page"}`:         0,
			`weir_edge_refused_total{from="route",port="0",site="s",to="page"}`: 0,
			`weir_edge_capacity{from="route",port="0",site="s",to="page"}`:      256,
			`weir_stage_width{site="s",stage="page"}`:                           0,
		} {
			waitForValue(t, m, name, want)
		}
	})
}

// waitForValue waits until a metric has a value: an exchange ends some time after its client has
// the response.
func waitForValue(t *testing.T, m *metrics.Metrics, name string, want float64) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		v, there := scrape(t, m)[name]
		if there && v == want {
			return
		}
		if time.Now().After(end) {
			t.Errorf("%s is %v (there: %v), want %v", name, v, there, want)
			return
		}
	}
}

func TestNamesAreAsPrometheusWantsThem(t *testing.T) {
	m, _ := server(t, flow.Chain)
	ours := regexp.MustCompile(`^weir_[a-z_]+(_total|_seconds|_seconds_bucket|_seconds_count|_seconds_sum|_active|_in_flight|_depth|_capacity|_width)(\{.*\})?$`)
	n := 0
	for name := range scrape(t, m) {
		if strings.HasPrefix(name, "weir_") {
			n++
			if !ours.MatchString(name) {
				t.Errorf("got the name %s, want one that ends in its unit", name)
			}
		}
	}
	if n == 0 {
		t.Error("got no name with weir_, want some")
	}
}

func TestWatchTwiceIsRefused(t *testing.T) {
	m, _ := server(t, flow.Chain)
	if err := m.Watch(func() []metrics.Site { return nil }); err == nil {
		t.Error("a second Watch: got no error, want one")
	}
}

// The metrics of a server, as Prometheus reads them.
func Example() {
	m := metrics.New()
	hello := web.Source(func(*web.Conn) web.Body { return web.String("hello") })
	h, err := web.New(web.Chain(m.Component(), hello), web.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Close()
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))

	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for line := range strings.Lines(w.Body.String()) {
		if strings.HasPrefix(line, "weir_http_requests_total") && strings.Contains(line, "2xx") {
			fmt.Print(line)
		}
	}
	// Output: weir_http_requests_total{class="2xx",route=""} 1
}

func BenchmarkComponent(b *testing.B) {
	for _, counted := range []bool{false, true} {
		b.Run(fmt.Sprintf("counted=%v", counted), func(b *testing.B) {
			var c web.Component = web.Source(func(*web.Conn) web.Body { return web.Body{} })
			if counted {
				c = web.Chain(metrics.New().Component(), c)
			}
			h, err := web.New(c, web.Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer h.Close()
			r := httptest.NewRequest("GET", "/", nil)
			b.ReportAllocs()
			for b.Loop() {
				h.ServeHTTP(discard{}, r)
			}
		})
	}
}

type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) WriteHeader(int)             {}

func TestUpstreamsAreCounted(t *testing.T) {
	m, h := metrics.New(), mustHandler(t)
	site := metrics.Site{Name: "s", Site: h, Upstreams: []metrics.Upstream{
		{Proxy: "p", Name: "http://a", State: metrics.Up, Active: 2, Requests: 7, Failures: 1, Weight: 3},
		{Proxy: "p", Name: "http://b", State: "drained"},
		{Proxy: "p", Name: "http://b", State: "aside"},
	}}
	if err := m.Watch(func() []metrics.Site { return []metrics.Site{site} }); err != nil {
		t.Fatal(err)
	}
	values := scrape(t, m)
	for name, want := range map[string]float64{
		`weir_upstream_up{proxy="p",site="s",upstream="http://a"}`:             1,
		`weir_upstream_active{proxy="p",site="s",upstream="http://a"}`:         2,
		`weir_upstream_weight{proxy="p",site="s",upstream="http://a"}`:         3,
		`weir_upstream_requests_total{proxy="p",site="s",upstream="http://a"}`: 7,
		`weir_upstream_failures_total{proxy="p",site="s",upstream="http://a"}`: 1,
		`weir_upstream_up{proxy="p",site="s",upstream="http://b"}`:             0,
	} {
		if got, ok := values[name]; !ok || got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}

func mustHandler(t *testing.T) *web.Handler {
	t.Helper()
	h, err := web.New(web.Named("page", web.Source(func(*web.Conn) web.Body { return web.String("hello") })), web.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return h
}
