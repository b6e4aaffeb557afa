package reason

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The calls here bypass Go's scheduler, whose work around an ordinary blocking call costs more than
// the context switch to be measured. A thread in such a call keeps its processor and cannot be
// stopped by the runtime. Each wait is therefore a poll with a timeout that signals interrupt (poll
// is never restarted), and each iteration calls a function at which the runtime can stop it. A raw
// blocking read would hang the process when the garbage collector stops one side.

// roomForThreads ensures that two threads can wait in this way while others run.
func roomForThreads() (restore func()) {
	before := runtime.GOMAXPROCS(0)
	if before >= 3 {
		return func() {}
	}
	runtime.GOMAXPROCS(3)
	return func() { runtime.GOMAXPROCS(before) }
}

// sendByte writes a byte into a pipe that is not full, and reports whether that succeeded.
func sendByte(fd int) bool {
	b := [1]byte{1}
	for {
		n, _, errno := unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), 1)
		if errno != unix.EINTR {
			return errno == 0 && n == 1
		}
	}
}

// awaitByte waits for a byte from a pipe. It reports whether one was read; false means that the
// other end is closed.
func awaitByte(fd int) bool {
	fds := [1]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for {
		limit := unix.Timespec{Nsec: 5e6}
		ready, _, errno := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&fds[0])), 1, uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
		pausePoint()
		if errno == 0 && ready == 1 {
			break
		}
		if errno != 0 && errno != unix.EINTR {
			return false
		}
	}
	var b [1]byte
	n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), 1)
	return errno == 0 && n == 1
}

// pausePoint is where the runtime can stop the thread: the stack check at a function's entry, which
// only functions with a stack frame have.
// functions that need some of it have.
//
//go:noinline
func pausePoint() byte {
	var room [512]byte
	return lastOf(&room)
}

//go:noinline
func lastOf(b *[512]byte) byte { return b[len(b)-1] }
