package disk

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

func (f systemFile) Datasync() error {
	return f.pathError("fdatasync", retry(func() error { return unix.Fdatasync(f.fd) }))
}

// stateOf asks for no times. After fstat(2) the next write changes them, also within a tick of the
// clock, and fdatasync of ext4 then writes the inode (Linux 6.13, multigrain timestamps).
func stateOf(fd int) (State, error) {
	var st unix.Statx_t
	err := retry(func() error {
		return unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_SIZE|unix.STATX_MODE|unix.STATX_NLINK, &st)
	})
	if err == unix.ENOSYS || err == unix.EPERM { // before Linux 4.11, and in some containers
		return fstat(fd)
	}
	return State{Size: int64(st.Size), Mode: fs.FileMode(st.Mode & 0o777), Links: uint64(st.Nlink)}, err
}

func exchange(a, b string) error {
	err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
	if err != nil {
		return &os.LinkError{Op: "exchange", Old: a, New: b, Err: err}
	}
	return nil
}
