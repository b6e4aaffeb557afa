package http

import (
	"context"
	"io"

	"weir/lab/load"
)

// Steer runs the load of c under orders of a program: see load.Conduct. The report is a Report.
// After "measured" the requests of the window that are not decided go on, at most Config.Timeout
// long.
func Steer(ctx context.Context, c Config, in io.Reader, out io.Writer) error {
	return load.Conduct(ctx, in, out, func(ctx context.Context, ev load.Events) (any, error) { return Run(ctx, c, ev) })
}
