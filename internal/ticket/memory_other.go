//go:build !linux

package ticket

import "os"

// newMemory returns a temporary file without a name.
func newMemory() (*os.File, error) {
	f, err := os.CreateTemp("", "session-tickets-*")
	if err != nil {
		return nil, err
	}
	return f, os.Remove(f.Name())
}
