package compare

import (
	"weir/lab/result"
	"weir/lab/stat"
)

// onStack returns the stack figures of one of a cell's trials; nil if the subjects are servers.
func onStack(trials map[string][]*result.Trial) *result.OnStack {
	for _, of := range trials {
		for _, t := range of {
			if t.Stack != nil {
				return t.Stack
			}
		}
	}
	return nil
}

// metricsOnStack returns the metrics of an operation. Idle connections have none: only their memory
// is of interest.
func metricsOnStack(c cell, s *result.OnStack) []string {
	if s.Operation == result.OperationIdle {
		return nil
	}
	metrics := []string{result.MetricCPU}
	if s.MeanUS > 0 {
		metrics = append(metrics, result.MetricLatency)
	}
	if c.pattern == result.Closed {
		metrics = append(metrics, result.MetricRate)
	}
	return metrics
}

// stackOf returns a trial's stack figures, or zeros if it has none.
func stackOf(t *result.Trial) result.OnStack {
	if t.Stack == nil {
		return result.OnStack{}
	}
	return *t.Stack
}

// latencies returns the mean times of the trials' operations.
func latencies(trials []*result.Trial) []stat.Trial {
	return valuesOf(trials, func(t *result.Trial) float64 { return stackOf(t).MeanUS })
}
