//go:build !linux

package link

import "errors"

// Setup returns an error: it needs Linux.
func Setup(SetupConfig) (undo func() error, err error) {
	return nil, errors.New("link: TAP devices are made on Linux only: use a pair in memory here")
}
