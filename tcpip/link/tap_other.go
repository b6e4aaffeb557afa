//go:build !linux

package link

import "errors"

// Tap is a TAP device. There is none on this system.
type Tap struct{ Link }

// Name is the device's.
func (t *Tap) Name() string { return "" }

// SetTransient has nothing to do.
func (t *Tap) SetTransient() error { return nil }

// OpenTap refuses: it needs Linux.
func OpenTap(TapConfig) (*Tap, error) {
	return nil, errors.New("link: TAP devices are opened on Linux only: use a pair in memory here")
}
