package log

import (
	"os"

	"golang.org/x/sys/unix"
)

// Datasync syncs the bytes of the file with the metadata needed to read them, without others such
// as the modification time.
func (f systemFile) Datasync() error {
	for {
		err := unix.Fdatasync(f.fd)
		if err == nil {
			return nil
		}
		if err != unix.EINTR {
			return &os.PathError{Op: "fdatasync", Path: f.Name(), Err: err}
		}
	}
}
