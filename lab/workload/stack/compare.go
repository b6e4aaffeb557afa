package stack

import (
	"fmt"

	"weir/lab/compare"
	"weir/lab/result"
)

// Compare implements workload.Workload.
func (Workload) Compare() compare.Kind {
	return compare.Kind{Unit: "operation", Units: "operations", Short: "op", OrMeans: ", or took longer, or did more operations per second",
		Metrics: metrics, Latency: mean, Describe: describeLoad,
		Figures: []compare.Figure{
			{Unit: "ops/s", Better: "higher", Of: (*result.Trial).Rate},
			{Unit: "gbit/s", Better: "higher", Of: func(t *result.Trial) float64 { return figures(t).GbitS }},
			{Unit: "mean-us", Better: "lower", Of: mean},
		}}
}

// metrics returns the metrics of an operation. Idle connections have none: only their memory is of
// interest. The variation of CPU is not compared, because the load is not constant.
func metrics(t *result.Trial) []string {
	s := figures(t)
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
func mean(t *result.Trial) float64 { return figures(t).MeanUS }

// figures returns a trial's stack figures, or zeros if it has none.
func figures(t *result.Trial) result.OnStack {
	if t.Stack == nil {
		return result.OnStack{}
	}
	return *t.Stack
}

// describeLoad describes a load in an error.
func describeLoad(l result.Load) string {
	o := l.Operation
	return fmt.Sprintf("the operation %s at a rate of %g (inside %t, processes %t, %d cores)", o.Name, l.Rate, o.Inside, o.Processes, o.Cores)
}
