package stackload

import (
	"context"
	"io"

	"weir/lab/load"
)

// Steer runs the load of c under the control of another program: see load.Conduct. The report is a
// Report. After "measured" the run continues until the operations under way are complete, at most
// for Config.Timeout. The connections of rr, out and idle then stay open without data until the
// next command.
func Steer(ctx context.Context, c Config, in io.Reader, out io.Writer) error {
	return load.Conduct(ctx, in, out, func(ctx context.Context, ev load.Events) (any, error) { return Run(ctx, c, ev) })
}
