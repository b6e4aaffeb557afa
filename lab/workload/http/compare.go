package http

import (
	"weir/lab/compare"
	"weir/lab/result"
)

// Compare implements report.Kind.
func (Report) Compare() compare.Kind {
	return compare.Kind{Units: Report{}.Units, Short: "req", OrMeans: ", or answered more requests per second", Describe: Report{}.Describe,
		Figures: []compare.Figure{
			{Unit: "req/s", Better: "higher", Of: (*result.Trial).Rate},
			{Unit: "latency-p99-us", Better: "lower", Of: func(t *result.Trial) float64 { return t.LatencyUS.P99 }},
		}}
}
