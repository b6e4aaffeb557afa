package disk

import (
	"os"

	"golang.org/x/sys/unix"
)

func (f systemFile) Datasync() error {
	return f.pathError("fdatasync", retry(func() error { return unix.Fdatasync(f.fd) }))
}

func exchange(a, b string) error {
	err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
	if err != nil {
		return &os.LinkError{Op: "exchange", Old: a, New: b, Err: err}
	}
	return nil
}
