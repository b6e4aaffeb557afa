package sample

import (
	"time"

	"golang.org/x/sys/unix"
)

// Monotonic is CLOCK_MONOTONIC: the time that all processes of the machine share, so that readings
// of different processes can be laid over one another.
func Monotonic() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		// the clock exists on every system this builds for
		panic("sample: CLOCK_MONOTONIC cannot be read: " + err.Error())
	}
	return time.Duration(ts.Nano())
}
