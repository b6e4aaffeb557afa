//go:build !linux

package link

import "testing"

// tapped skips the test: this system has no TAP devices.
func tapped(t testing.TB, _ TapConfig) station {
	t.Skip("TAP devices are Linux's")
	return station{}
}
