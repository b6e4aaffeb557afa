package compare

import (
	"weir/lab/result"
	"weir/lab/stat"
)

// What trials of TCP/IP stacks are compared by.

// onStack is one of a cell's trials on stacks; nil where they are on servers.
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

// metricsOnStack is none for connections that are idle: what they take is memory.
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

// stackOf is what a trial says of its operation; nothing where it had none.
func stackOf(t *result.Trial) result.OnStack {
	if t.Stack == nil {
		return result.OnStack{}
	}
	return *t.Stack
}

// latencies is the mean times of the trials' operations.
func latencies(trials []*result.Trial) []stat.Trial {
	return valuesOf(trials, func(t *result.Trial) float64 { return stackOf(t).MeanUS })
}
