//go:build !linux

package stackload

import (
	"context"
	"errors"
	"runtime"

	"weir/lab/load"
)

// Run returns an error, because the generator needs epoll and the kernel's time stamps.
func Run(ctx context.Context, c Config, ev load.Events) (Report, error) {
	if err := c.Check(ev.Commands != nil); err != nil {
		return Report{}, err
	}
	return Report{}, errors.New("load: the generator needs Linux, and this is " + runtime.GOOS + ": run it on a Linux machine with this machine's address as the target")
}
