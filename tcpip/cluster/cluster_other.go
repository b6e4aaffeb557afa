//go:build !linux

package cluster

import (
	"context"
	"errors"
)

// Run runs the programs, on Linux.
func (f *File) Run(context.Context, Config) (status int, err error) {
	return 0, errors.New("cluster: programs run on a stack on Linux only")
}
