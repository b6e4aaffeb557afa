//go:build !linux

package guest

import (
	"context"
	"errors"
	"os"
)

var errLinux = errors.New("guest: network namespaces are those of Linux")

// Guest is a namespace with a device.
type Guest struct{ Device *os.File }

// Start returns an error: it needs Linux.
func Start(context.Context, []string, Config) (*Guest, error) { return nil, errLinux }

// Inside returns an error: it needs Linux.
func Inside(*os.File) error { return errLinux }

// Ended returns an error: it needs Linux.
func Ended(context.Context, int) (<-chan struct{}, error) { return nil, errLinux }

// Proceed returns an error: it needs Linux.
func (g *Guest) Proceed() error { return errLinux }

// Wait returns an error: it needs Linux.
func (g *Guest) Wait() error { return errLinux }
