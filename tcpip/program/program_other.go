//go:build !linux || !(amd64 || arm64)

package program

import (
	"errors"
	"os"
	"syscall"
)

var errLinux = errors.New("program: a program's system calls can be answered on Linux only, on amd64 and arm64")

// Program is a program that runs on a stack.
type Program struct{}

// Start returns an error: it needs Linux.
func Start(Config) (*Program, error) { return nil, errLinux }

// Inside returns an error: it needs Linux.
func Inside(*os.File) (status int, err error) { return 0, errLinux }

// Signal returns an error: it needs Linux.
func (p *Program) Signal(syscall.Signal) error { return errLinux }

// Kill returns an error: it needs Linux.
func (p *Program) Kill() error { return errLinux }

// Wait returns an error: it needs Linux.
func (p *Program) Wait() (status int, err error) { return 0, errLinux }
