package subject

import (
	"fmt"
	"io"
	"os"
	"syscall"
)

// openRegular opens a regular file. Others are an error: opening a pipe may wait, and reading a
// device may never end.
func openRegular(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", name)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// maxDescription limits the size of a subject.toml, in bytes.
const maxDescription = 1 << 20

// readDescription reads a subject.toml.
func readDescription(name string) ([]byte, error) {
	f, err := openRegular(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxDescription+1))
	if err == nil && len(data) > maxDescription {
		err = fmt.Errorf("%s has more than %d bytes, which no description needs", name, maxDescription)
	}
	return data, err
}
