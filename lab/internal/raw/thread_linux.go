package raw

import (
	"runtime"
	"runtime/debug"
)

// QuietRuntime keeps the runtime from delaying a locked thread: the garbage collector is off up to
// a memory limit, and the threads that wait by raw system calls leave one processor for other
// goroutines. It returns a function that restores the settings.
func QuietRuntime() (undo func()) {
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

// PausePoint is where the runtime can stop a thread that waits by raw system calls. Its frame is
// large enough for the prologue with the stack check, and it is never inlined.
//
//go:noinline
func PausePoint() {
	var frame [256]byte
	runtime.KeepAlive(&frame)
}
