package stack

import (
	"context"
	"io"

	"weir/lab/load"
)

// Steer runs the load of c under orders of a program: see load.Conduct. The report is a Report.
// After "measured" what is under way is still decided, at most Config.Timeout long; then the
// connections of rr, out and idle stay open and silent until the next order.
func Steer(ctx context.Context, c Config, in io.Reader, out io.Writer) error {
	return load.Conduct(ctx, in, out, func(ctx context.Context, ev load.Events) (any, error) { return Run(ctx, c, ev) })
}
