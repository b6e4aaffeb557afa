//go:build !linux

package stack

import (
	"context"
	"errors"
	"runtime"

	"weir/lab/load"
)

// Run refuses: it needs epoll and the kernel's time stamps.
func Run(ctx context.Context, c Config, ev load.Events) (Report, error) {
	if err := c.Check(ev.Commands != nil); err != nil {
		return Report{}, err
	}
	return Report{}, errors.New("load: needs Linux, this is " + runtime.GOOS + ": run the generator on a Linux machine and give it this one's address as its target")
}
