//go:build !linux

package upgrade

import (
	"context"
	"errors"
	"os/exec"
)

var errUnsupported = errors.New("upgrade: upgrading a running server is supported on Linux only: restart it")

// Successor is the process that replaces this one.
type Successor struct {
	Version int // version of the state that it understands
}

// Start returns an error: upgrades are supported on Linux only.
func Start(context.Context, *exec.Cmd) (*Successor, error) { return nil, errUnsupported }

// PID is never called.
func (*Successor) PID() int { return 0 }

// Transfer is never called.
func (*Successor) Transfer(context.Context, Handover) error { return errUnsupported }

// Commit is never called.
func (*Successor) Commit() error { return errUnsupported }

// Kill is never called.
func (*Successor) Kill() error { return nil }

// Predecessor is the process that this one replaces.
type Predecessor struct{}

// Inherited returns an error: upgrades are supported on Linux only.
func Inherited() (*Predecessor, error) { return nil, errUnsupported }

// Receive is never called.
func (*Predecessor) Receive(int) (Handover, error) { return Handover{}, errUnsupported }

// Confirm is never called.
func (*Predecessor) Confirm() error { return errUnsupported }

// Refuse is never called.
func (*Predecessor) Refuse(error) error { return errUnsupported }
