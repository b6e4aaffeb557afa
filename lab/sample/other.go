//go:build !linux

package sample

import (
	"context"
	"errors"
	"os/exec"
	"time"

	"weir/lab/result"
)

// errLinux is returned by all functions on systems other than Linux.
var errLinux = errors.New("accounting for process trees needs Linux: run the lab there")

// Group is not available on this system.
type Group struct{}

func NewGroup(name string) (*Group, error)               { return nil, errLinux }
func Observe(pids ...int) (*Group, error)                { return nil, errLinux }
func (g *Group) Method() result.AccountingMethod         { return result.AccountingMethod{} }
func (g *Group) CPU() (time.Duration, error)             { return 0, errLinux }
func (g *Group) Uncounted() string                       { return "" }
func (g *Group) PIDs() ([]int, error)                    { return nil, errLinux }
func (g *Group) Dir() string                             { return "" }
func (g *Group) Close() error                            { return errLinux }
func (g *Group) Start(cmd *exec.Cmd, pl Placement) error { return errLinux }
func (g *Group) Census() (Census, error)                 { return Census{}, errLinux }

func RecordMethods(ctx context.Context, g *Group, window time.Duration) []Reading { return nil }
func ReadMachine() (Machine, error)                                               { return Machine{}, errLinux }
func MachineMethod() result.AccountingMethod                                      { return result.AccountingMethod{} }
func Neighbours(before, after Machine, ours func(pid int) bool) []Neighbour       { return nil }
