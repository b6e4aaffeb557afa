package compare

import (
	"fmt"

	"weir/lab/result"
)

// messages, requests and operations are kinds as workloads have them.
var (
	messages = Kind{Units: units("message", "messages"), Short: "msg", Describe: func(l result.Load) string {
		return fmt.Sprintf("%g messages/s of %d bytes", l.Rate, l.Size)
	}}
	requests = Kind{Units: units("request", "requests"), Short: "req", OrMeans: ", or answered more requests per second", Describe: func(l result.Load) string {
		return fmt.Sprintf("requests for %s (gzip %t)", l.Requests.Path, l.Requests.Gzip)
	}}
	operations = Kind{Units: units("operation", "operations"), Short: "op", Latency: func(t *result.Trial) float64 { return t.Stack.MeanUS }, Metrics: func(t *result.Trial) []string {
		switch {
		case t.Stack.Operation == result.OperationIdle:
			return nil
		case t.Stack.MeanUS == 0:
			return []string{result.MetricCPU, result.MetricRate}
		case t.Pattern != result.Closed:
			return []string{result.MetricCPU, result.MetricLatency}
		}
		return []string{result.MetricCPU, result.MetricLatency, result.MetricRate}
	}}
)

func units(one, many string) func() (string, string) {
	return func() (string, string) { return one, many }
}
