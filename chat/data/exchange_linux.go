package data

import (
	"path/filepath"

	"golang.org/x/sys/unix"
)

// exchange has the folder old and the link name change places, at once. Some file systems cannot.
func exchange(rooms, old, name string) error {
	err := unix.Renameat2(unix.AT_FDCWD, filepath.Join(rooms, old), unix.AT_FDCWD, filepath.Join(rooms, name), unix.RENAME_EXCHANGE)
	if err == unix.EINVAL || err == unix.ENOSYS {
		return moveAndLink(rooms, old, name)
	}
	return err
}
