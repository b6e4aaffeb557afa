package basic_test

import (
	"fmt"
	"math"
	"testing"

	"weir/web"
	"weir/web/components/basic"
	"weir/web/internal/webtest"
)

func ExampleLimitRate() {
	limit := must(basic.LimitRate(basic.LimitRateConfig{Rate: 10, Per: "1m", Burst: 5}))
	ask(web.Chain(limit, basic.Text("hello")), "GET /", "RateLimit-Policy", "RateLimit")
	// Output:
	// 200 OK
	// RateLimit-Policy: "default";q=5;w=30
	// RateLimit: "default";r=4;t=6
	// hello
}

func TestLimitRateRejectsRequestsAboveItsRate(t *testing.T) {
	for _, way := range []string{"", "X-Key"} {
		t.Run("by "+way, func(t *testing.T) {
			limit := must(basic.LimitRate(basic.LimitRateConfig{Rate: 3, Per: "24h", Header: way}))
			url := webtest.Serve(t, "chain", web.Chain(limit, basic.Text("hello")))
			for i := range 5 {
				resp, body := webtest.Get(t, url, "X-Key", "one")
				if i < 3 && (resp.StatusCode != 200 || body != "hello" || resp.Header.Get("RateLimit") == "") {
					t.Errorf("request %d: got %d %q %v, want 200 with RateLimit", i, resp.StatusCode, body, resp.Header)
				}
				if i >= 3 && (resp.StatusCode != 429 || resp.Header.Get("Retry-After") == "" || resp.Header.Get("RateLimit") == "") {
					t.Errorf("request %d: got %d %v, want 429 with Retry-After", i, resp.StatusCode, resp.Header)
				}
			}
			want := map[string]int{"": 429, "X-Key": 200}[way]
			if resp, _ := webtest.Get(t, url, "X-Key", "two"); resp.StatusCode != want {
				t.Errorf("with another key: %d, want %d", resp.StatusCode, want)
			}
		})
	}
}

func TestLimitRateRejectsInvalidConfigs(t *testing.T) {
	for part, cfg := range map[string]basic.LimitRateConfig{
		"rate is 0":                              {},
		"rate is NaN":                            {Rate: math.NaN()},
		"rate is +Inf":                           {Rate: math.Inf(1)},
		"per is \"often\"":                       {Rate: 1, Per: "often"},
		"burst is -1":                            {Rate: 1, Burst: -1},
		"header is \"a b\"":                      {Rate: 1, Header: "a b"},
		"one request a nanosecond":               {Rate: 1e10},
		"and a burst that refills within a year": {Rate: 1e-9},
		"10 requests in 0s with":                 {Rate: 10, Per: "0s"},
	} {
		c, err := basic.LimitRate(cfg)
		wantError(t, c, err, part)
	}
}

func BenchmarkLimitRate(b *testing.B) {
	for _, clients := range []int{1, 1000} {
		b.Run(fmt.Sprint("clients=", clients), func(b *testing.B) {
			limit := must(basic.LimitRate(basic.LimitRateConfig{Rate: 1e6, Burst: 1 << 20, Header: "X-Key"}))
			keys := make([]string, clients)
			for i := range keys {
				keys[i] = fmt.Sprint(i)
			}
			benchmarkHeader(b, limit, "X-Key", keys)
		})
	}
}
