package gate

import (
	"slices"

	"weir/lab/result"
)

// Names of metrics.
const (
	MetricCPU        = "cpu"        // CPU of the server per message
	MetricMemory     = "memory"     // proportional set size (PSS) at the end of the window
	MetricP50        = "p50"        // median latency
	MetricP99        = "p99"        // 99th percentile of the latency
	MetricThroughput = "throughput" // messages per second, in a closed loop
	MetricBinary     = "binary"     // size of the file that the subject names
	MetricStartup    = "startup"    // from the start of the process to its first connection
)

// A metric is a figure of one trial, start or file.
type metric struct {
	name, title, unit string
	// of reads the figure of a trial; 0 where the load does not have it. nil: it is no figure of a
	// trial.
	of           func(*result.Trial) float64
	moreIsBetter bool
	scale        float64 // from the figure to the unit of reports
}

var metrics = []metric{
	{name: MetricCPU, title: "CPU per message", unit: "us", of: func(t *result.Trial) float64 { return t.CPUUSPerMessage }, scale: 1},
	{name: MetricMemory, title: "memory", unit: "MB", of: func(t *result.Trial) float64 { return float64(t.Memory.PSSKB) }, scale: 1.0 / 1024},
	{name: MetricP50, title: "median latency", unit: "us", of: func(t *result.Trial) float64 { return t.LatencyUS.P50 }, scale: 1},
	{name: MetricP99, title: "99th percentile of latency", unit: "us", of: func(t *result.Trial) float64 { return t.LatencyUS.P99 }, scale: 1},
	{name: MetricThroughput, title: "throughput", unit: "per second", of: throughput, moreIsBetter: true, scale: 1},
	{name: MetricStartup, title: "start-up time", unit: "ms", scale: 1000},
	{name: MetricBinary, title: "binary size", unit: "MB", scale: 1.0 / (1 << 20)},
}

// throughput is a rate that the server determines: that of a closed loop.
func throughput(t *result.Trial) float64 {
	if t.Pattern != result.Closed {
		return 0
	}
	return t.Rate()
}

// Metrics lists the names of all metrics.
func Metrics() []string {
	names := make([]string, len(metrics))
	for i, m := range metrics {
		names[i] = m.name
	}
	return names
}

// metricNamed returns the metric of a name, which must be one of Metrics.
func metricNamed(name string) metric {
	return metrics[slices.Index(Metrics(), name)]
}

// cost returns head/base such that more is worse.
func (m metric) cost(base, head float64) float64 {
	if m.moreIsBetter {
		return base / head
	}
	return head / base
}
