package stream

import (
	"fmt"

	"weir/lab/compare"
	"weir/lab/result"
)

// Compare implements workload.Workload.
func (Workload) Compare() compare.Kind {
	return compare.Kind{Unit: "message", Units: "messages", Short: "msg", Describe: describeLoad}
}

// describeLoad describes a load in an error.
func describeLoad(l result.Load) string {
	s := fmt.Sprintf("%g messages/s of %d bytes", l.Rate, l.Size)
	if l.Bits > 0 {
		s = fmt.Sprintf("%g bits/s in messages of %d bytes", l.Bits, l.Size)
	}
	if l.Churn > 0 || l.Idle > 0 {
		s += fmt.Sprintf(" with %g short connections/s and %d idle ones", l.Churn, l.Idle)
	}
	if l.WorkUS > 0 || l.WaitMS > 0 {
		s += fmt.Sprintf(" with %d us of work and %d ms of waiting", l.WorkUS, l.WaitMS)
	}
	return s
}
