package accesslog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// writable says why a file can't be appended to, or made, without doing either.
func writable(name string) error {
	// a pipe must not have us wait for its reader
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|unix.O_NONBLOCK, 0)
	switch {
	case err == nil:
		return f.Close()
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("accesslog: %w", err)
	}
	dir := filepath.Dir(name)
	switch info, err := os.Stat(dir); {
	case err != nil:
		return fmt.Errorf("accesslog: %s can't be made, since its folder is not there: make the folder %s", name, dir)
	case !info.IsDir():
		return fmt.Errorf("accesslog: %s can't be made, since %s is no folder", name, dir)
	}
	if err := unix.Faccessat(unix.AT_FDCWD, dir, unix.W_OK|unix.X_OK, unix.AT_EACCESS); err != nil {
		return fmt.Errorf("accesslog: %s can't be made, since its folder can't be written to: %w", name, err)
	}
	return nil
}
