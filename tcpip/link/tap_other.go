//go:build !linux

package link

import "errors"

// Tap is a TUN device: this system has no TAP devices.
type Tap struct {
	Link
	name string
}

// Name returns the device's name.
func (t *Tap) Name() string { return t.name }

// SetTransient does nothing.
func (t *Tap) SetTransient() error { return nil }

// OpenTap returns an error: it needs Linux.
func OpenTap(TapConfig) (*Tap, error) {
	return nil, errors.New("link: TAP devices are opened on Linux only: use a pair in memory here")
}
