package data

import (
	"path/filepath"

	"golang.org/x/sys/unix"
)

// exchange swaps the names of the folder old and the link name in one step, or in several where the
// file system cannot.
func exchange(rooms, old, name string) error {
	err := unix.Renameat2(unix.AT_FDCWD, filepath.Join(rooms, old), unix.AT_FDCWD, filepath.Join(rooms, name), unix.RENAME_EXCHANGE)
	if err == unix.EINVAL || err == unix.ENOSYS {
		return moveAndLink(rooms, old, name)
	}
	return err
}
