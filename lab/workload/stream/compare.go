package stream

import (
	"weir/lab/compare"
)

// Compare implements report.Kind.
func (Report) Compare() compare.Kind {
	return compare.Kind{Units: Report{}.Units, Short: "msg", Describe: Report{}.Describe}
}
