package raw

import (
	"runtime"
	"runtime/debug"
)

// Settle keeps the runtime from getting between a locked thread and its clock: the collector rests
// unless memory runs up, and the threads that wait raw leave a processor for everybody else. It
// returns what undoes it.
func Settle() (undo func()) {
	percent, limit := debug.SetGCPercent(-1), debug.SetMemoryLimit(1<<30)
	procs := runtime.GOMAXPROCS(0)
	if procs < 3 {
		runtime.GOMAXPROCS(3)
	}
	return func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
		if procs < 3 {
			runtime.GOMAXPROCS(procs)
		}
	}
}

// PausePoint is where the runtime may stop a thread that waits raw. Its frame is big enough to get the
// prologue that looks for such a wish, and it is never inlined.
//
//go:noinline
func PausePoint() {
	var frame [256]byte
	runtime.KeepAlive(&frame)
}
