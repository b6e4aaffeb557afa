package log

import (
	"os"

	"golang.org/x/sys/unix"
)

// Datasync leaves out what finding the bytes again does not need, such as the time of the change.
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
