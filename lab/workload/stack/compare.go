package stack

import (
	"weir/lab/compare"
	"weir/lab/result"
)

// Compare implements report.Kind.
func (Report) Compare() compare.Kind {
	return compare.Kind{Units: Report{}.Units, Short: "op", OrMeans: ", or took longer, or did more operations per second",
		Metrics: metrics, Latency: mean, Describe: Report{}.Describe,
		Figures: []compare.Figure{
			{Unit: "ops/s", Better: "higher", Of: (*result.Trial).Rate},
			{Unit: "gbit/s", Better: "higher", Of: func(t *result.Trial) float64 { return stackOf(t).GbitS }},
			{Unit: "mean-us", Better: "lower", Of: mean},
		}}
}

// metrics returns the metrics of an operation. Idle connections have none: only their memory is of
// interest. The variation of CPU is not compared, because the load is not constant.
func metrics(t *result.Trial) []string {
	s := stackOf(t)
	if s.Operation == result.OperationIdle {
		return nil
	}
	metrics := []string{result.MetricCPU}
	if s.MeanUS > 0 {
		metrics = append(metrics, result.MetricLatency)
	}
	if t.Pattern == result.Closed {
		metrics = append(metrics, result.MetricRate)
	}
	return metrics
}

// mean returns the mean time of a trial's operations in microseconds.
func mean(t *result.Trial) float64 { return stackOf(t).MeanUS }
