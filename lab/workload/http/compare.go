package http

import (
	"fmt"

	"weir/lab/compare"
	"weir/lab/result"
)

// Compare implements workload.Workload.
func (Workload) Compare() compare.Kind {
	return compare.Kind{Unit: "request", Units: "requests", Short: "req", OrMeans: ", or answered more requests per second", Describe: describeLoad,
		Figures: []compare.Figure{
			{Unit: "req/s", Better: "higher", Of: (*result.Trial).Rate},
			{Unit: "latency-p99-us", Better: "lower", Of: func(t *result.Trial) float64 { return t.LatencyUS.P99 }},
		}}
}

// describeLoad describes a load in an error.
func describeLoad(l result.Load) string {
	s := fmt.Sprintf("%g requests/s a connection", l.Rate)
	if l.Rate == 0 {
		s = "a closed loop"
	}
	q := l.Requests
	return fmt.Sprintf("%s for %s (keep-alive %t, 1 in %d sleeps %d ms, %d filters, gzip %t, TLS %t, cold %t)", s, q.Path, !q.NoKeepAlive, q.SleepEvery, q.SleepMS, q.Filters, q.Gzip, q.TLS, q.Cold)
}
