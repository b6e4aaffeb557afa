package compare

import "weir/lab/result"

// Kind is what comparisons need to know of a workload.
type Kind struct {
	Units func() (one, many string) // the words for a message and for messages
	Short string                    // the unit of a message in the benchmark format: "msg"
	// what else a ratio over 1 means, where rates or times are compared: ", or took longer"
	OrMeans string
	// figures in the benchmark format, after those of all workloads
	Figures []Figure
	// Metrics returns the metrics that are compared in the cell of a trial, the main one first;
	// nil: CPU per message, its variation, and the rate of closed loops
	Metrics func(*result.Trial) []string
	// Latency returns the mean time of a trial's messages; nil: it is not compared
	Latency func(*result.Trial) float64
	// Describe describes a load in an error
	Describe func(result.Load) string
}

// Figure is a figure of a trial in the benchmark format.
type Figure struct {
	Unit, Better string // Better is "higher" or "lower"
	Of           func(*result.Trial) float64
}

// metrics returns the metrics that are compared in a cell, the main one first. The rate is compared
// only in closed loops: elsewhere it is offered.
func (k Kind) metrics(c cell, trials map[string][]*result.Trial) []string {
	if k.Metrics != nil {
		for _, of := range trials {
			return k.Metrics(of[0])
		}
	}
	if c.pattern == result.Closed {
		return []string{result.MetricCPU, result.MetricCV, result.MetricRate}
	}
	return []string{result.MetricCPU, result.MetricCV}
}

// value returns the function that returns a metric of a trial. The variation of CPU is none of a
// single trial.
func (k Kind) value(metric string) func(*result.Trial) float64 {
	switch metric {
	case result.MetricRate:
		return (*result.Trial).Rate
	case result.MetricLatency:
		return k.Latency
	}
	return func(t *result.Trial) float64 { return t.CPUUSPerMessage }
}
