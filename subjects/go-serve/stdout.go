package main

import (
	"io"
	"os"
	"syscall"
	"time"
	"unsafe"
)

// standardOutput returns the function that writes all of p to standard output, each read's bytes by
// one call. A write to /dev/null or a file never waits for another process, so it does not notify
// Go's scheduler. A write to a pipe or terminal may wait, and a raw call that waits would block the
// garbage collector and so the program.
func standardOutput() func(p []byte) error {
	if info, err := os.Stdout.Stat(); err == nil && neverWaits(info) {
		return func(p []byte) error { return writeAll(p, rawWrite) }
	}
	return func(p []byte) error { return writeAll(p, syscall.Write) }
}

func neverWaits(info os.FileInfo) bool {
	null, err := os.Stat(os.DevNull)
	return info.Mode().IsRegular() || err == nil && os.SameFile(info, null)
}

func rawWrite(fd int, p []byte) (int, error) {
	n, _, errno := syscall.RawSyscall(syscall.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

func writeAll(p []byte, write func(int, []byte) (int, error)) error {
	for len(p) > 0 {
		n, err := write(1, p)
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN: // another process that shares it made it non-blocking
			time.Sleep(time.Millisecond)
			continue
		case err != nil:
			return err
		case n == 0:
			return io.ErrShortWrite
		}
		p = p[n:]
	}
	return nil
}
