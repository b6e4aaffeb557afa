package accesslog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// checkWritable returns an error if a file cannot be appended to or created. It does neither.
func checkWritable(name string) error {
	// O_NONBLOCK: opening a pipe must not wait for its reader
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
		return fmt.Errorf("accesslog: %s cannot be created: its folder does not exist: create %s", name, dir)
	case !info.IsDir():
		return fmt.Errorf("accesslog: %s cannot be created: %s is not a folder", name, dir)
	}
	if err := unix.Faccessat(unix.AT_FDCWD, dir, unix.W_OK|unix.X_OK, unix.AT_EACCESS); err != nil {
		return fmt.Errorf("accesslog: %s cannot be created: its folder is not writable: %w", name, err)
	}
	return nil
}
