package sample

import (
	"time"

	"golang.org/x/sys/unix"
)

// Monotonic reads CLOCK_MONOTONIC, which all processes of the machine share, so that times of
// different processes can be compared.
func Monotonic() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		// the clock exists on every supported system
		panic("sample: CLOCK_MONOTONIC cannot be read: " + err.Error())
	}
	return time.Duration(ts.Nano())
}
