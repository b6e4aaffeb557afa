package tally

// Times are the figures of ab's tables for a distribution, in microseconds. They are zero if
// nothing was recorded.
type Times struct {
	Min    float64 `json:"min"`
	Mean   float64 `json:"mean"`
	SD     float64 `json:"sd"`
	Median float64 `json:"median"`
	P66    float64 `json:"p66"`
	P75    float64 `json:"p75"`
	P80    float64 `json:"p80"`
	P90    float64 `json:"p90"`
	P95    float64 `json:"p95"`
	P98    float64 `json:"p98"`
	P99    float64 `json:"p99"`
	P999   float64 `json:"p999"`
	Max    float64 `json:"max"`
}

// Times returns the figures of d.
func (d Distribution) Times() Times {
	if d.h.TotalCount() == 0 {
		return Times{}
	}
	at := func(q float64) float64 { return float64(d.h.ValueAtPercentile(q)) / 1e3 }
	return Times{Min: float64(d.h.Min()) / 1e3, Mean: d.h.Mean() / 1e3, SD: d.h.StdDev() / 1e3, Median: at(50), P66: at(66), P75: at(75), P80: at(80),
		P90: at(90), P95: at(95), P98: at(98), P99: at(99), P999: at(99.9), Max: float64(d.h.Max()) / 1e3}
}
