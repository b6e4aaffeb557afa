//go:build !linux

package upgrade

import (
	"context"
	"errors"
	"os/exec"
)

var errLinux = errors.New("upgrade: a server is followed by another on Linux only: restart it")

// Successor is the process that is to follow this one.
type Successor struct {
	Version int // of the state that it knows
}

// Start refuses.
func Start(context.Context, *exec.Cmd) (*Successor, error) { return nil, errLinux }

// PID is never called.
func (*Successor) PID() int { return 0 }

// Give is never called.
func (*Successor) Give(context.Context, Handed) error { return errLinux }

// Go is never called.
func (*Successor) Go() error { return errLinux }

// Kill is never called.
func (*Successor) Kill() error { return nil }

// Predecessor is the process that this one is to follow.
type Predecessor struct{}

// Inherited refuses.
func Inherited() (*Predecessor, error) { return nil, errLinux }

// Receive is never called.
func (*Predecessor) Receive(int) (Handed, error) { return Handed{}, errLinux }

// Taken is never called.
func (*Predecessor) Taken() error { return errLinux }

// Refuse is never called.
func (*Predecessor) Refuse(error) error { return errLinux }
