package chat

import (
	"fmt"

	"weir/lab/compare"
	"weir/lab/result"
)

// Compare implements workload.Workload.
func (Workload) Compare() compare.Kind {
	return compare.Kind{Unit: "delivery", Units: "deliveries", Short: "msg", Describe: describeLoad,
		Figures: []compare.Figure{
			{Unit: "deliveries/s", Better: "higher", Of: (*result.Trial).Rate},
			{Unit: "latency-p99-us", Better: "lower", Of: func(t *result.Trial) float64 { return t.LatencyUS.P99 }},
		}}
}

// describeLoad describes a load in an error.
func describeLoad(l result.Load) string {
	return fmt.Sprintf("%g messages/s of %d bytes a member, %d idle connections, a replay of %d, capabilities %q", l.Rate, l.Size, l.Idle, l.Rooms.Replay, l.Rooms.Caps)
}
