package ticket

import (
	"os"

	"golang.org/x/sys/unix"
)

// newMemory returns a file that only this process and its children can reach.
func newMemory() (*os.File, error) {
	fd, err := unix.MemfdCreate("session tickets", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	return os.NewFile(uintptr(fd), "session tickets"), nil
}
