//go:build !linux

package disk

import (
	"os"

	"golang.org/x/sys/unix"
)

// Datasync is Sync, where x/sys has no fdatasync. On macOS, Sync also flushes the drive's cache.
func (f systemFile) Datasync() error { return f.Sync() }

func stateOf(fd int) (State, error) { return fstat(fd) }

func exchange(a, b string) error {
	return &os.LinkError{Op: "exchange", Old: a, New: b, Err: unix.ENOSYS}
}
