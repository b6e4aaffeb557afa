//go:build !linux

package link

import "errors"

// Tap is a TAP device. This system has none.
type Tap struct{ Link }

// Name returns "".
func (t *Tap) Name() string { return "" }

// SetTransient does nothing.
func (t *Tap) SetTransient() error { return nil }

// OpenTap returns an error: it needs Linux.
func OpenTap(TapConfig) (*Tap, error) {
	return nil, errors.New("link: TAP devices are opened on Linux only: use a pair in memory here")
}

// OpenTun returns an error: it needs Linux.
func OpenTun(TapConfig) (*Tap, error) {
	return nil, errors.New("link: TUN devices are opened on Linux only: use a pair in memory here")
}
