//go:build !linux && !darwin && !freebsd

package link

import "errors"

// OpenTun returns an error: this system has no TUN device that Weir can open.
func OpenTun(TapConfig) (*Tap, error) {
	return nil, errors.New("link: TUN devices are opened on Linux, macOS and FreeBSD only: give Over the packets of another device here")
}
