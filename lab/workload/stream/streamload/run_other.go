//go:build !linux

package streamload

import (
	"context"
	"errors"
	"runtime"
	"weir/lab/load"
)

// Run returns an error: precise timing needs timer descriptors and epoll.
func Run(ctx context.Context, c Config, ev load.Events) (Report, error) {
	if err := c.Check(ev.Commands != nil); err != nil {
		return Report{}, err
	}
	return Report{}, errors.New("load: the generator needs Linux, this is " + runtime.GOOS + ": run the generator on a Linux machine and give it this one's address as its target")
}
