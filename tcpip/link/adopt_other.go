//go:build !linux

package link

import (
	"errors"
	"os"
)

// AdoptConfig describes an open device.
type AdoptConfig struct{ MTU int }

// Adopt returns an error: it needs Linux.
func Adopt(f *os.File, _ AdoptConfig) (*Tap, error) {
	return nil, errors.Join(errors.New("link: TAP devices are opened on Linux only: use a pair in memory here"), f.Close())
}
