package http

import (
	"slices"

	"weir/lab/compare"
	"weir/lab/report"
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

// CompareAs returns what comparisons need to know of requests that the kind k calls otherwise.
// short is the unit of a request, and perSecond that of a rate: "call", "calls/s".
func CompareAs(k report.Kind, short, perSecond string) compare.Kind {
	_, many := k.Units()
	c := Report{}.Compare()
	c.Units, c.Short, c.OrMeans, c.Describe = k.Units, short, ", or answered more "+many+" per second", k.Describe
	c.Figures = slices.Clone(c.Figures)
	c.Figures[0].Unit = perSecond
	return c
}
