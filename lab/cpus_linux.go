package lab

import (
	"time"

	"golang.org/x/sys/unix"
)

// ownCPU returns the CPU that this process has used so far.
func ownCPU() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
