//go:build !linux

package link

import "testing"

// tapped skips: there are no TAP devices here.
func tapped(t testing.TB, _ TapConfig) station {
	t.Skip("TAP devices are Linux's")
	return station{}
}
