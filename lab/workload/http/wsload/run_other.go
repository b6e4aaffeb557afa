//go:build !linux

package wsload

import (
	"context"
	"errors"

	"weir/lab/load"
)

// Run returns an error, because the generator needs epoll.
func Run(_ context.Context, c Config, ev load.Events) (Report, error) {
	return Report{}, errors.Join(c.Check(ev.Commands != nil), load.NeedsLinux())
}
