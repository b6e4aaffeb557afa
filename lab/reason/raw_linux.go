package reason

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The calls here go past Go's scheduler, whose work around an ordinary blocking call costs more
// than the switch that is to be measured. A thread in one of them keeps its processor and can't be
// stopped by the runtime, so each wait is a poll with a time limit, which signals interrupt (poll
// is never restarted), and each turn calls a function at which the runtime can stop it. A raw
// blocking read would hang the process as soon as the collector stops one side.

// roomForThreads makes sure that two threads can wait like this and others run beside them.
func roomForThreads() (restore func()) {
	before := runtime.GOMAXPROCS(0)
	if before >= 3 {
		return func() {}
	}
	runtime.GOMAXPROCS(3)
	return func() { runtime.GOMAXPROCS(before) }
}

// sendByte writes a byte into a pipe that has room for it.
func sendByte(fd int) bool {
	b := [1]byte{1}
	for {
		n, _, errno := unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), 1)
		if errno != unix.EINTR {
			return errno == 0 && n == 1
		}
	}
}

// awaitByte waits until a byte comes out of a pipe; false when its other end is closed.
func awaitByte(fd int) bool {
	fds := [1]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for {
		limit := unix.Timespec{Nsec: 5e6}
		ready, _, errno := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&fds[0])), 1, uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
		mayStop()
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

// mayStop is where the runtime can stop the thread: the check for room on the stack at a function's entry, which only
// functions that need some of it have.
//
//go:noinline
func mayStop() byte {
	var room [512]byte
	return lastOf(&room)
}

//go:noinline
func lastOf(b *[512]byte) byte { return b[len(b)-1] }
