//go:build !linux

package reason

import (
	"context"
	"errors"

	"weir/lab/result"
	"weir/lab/sample"
)

var errLinux = errors.New("counting system calls and switches needs Linux: run the lab there")

// Watch is not available on this system.
type Watch struct{}

func Start(g *sample.Group) (*Watch, error)                        { return nil, errLinux }
func (w *Watch) Stop() (Counts, error)                             { return Counts{}, errLinux }
func SwitchCosts(ctx context.Context) ([]result.SwitchCost, error) { return nil, errLinux }
