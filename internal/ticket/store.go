package ticket

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"weir/internal/durable"
)

// path is a file of keys, which several processes may share. A file beside it locks updates.
type path string

// read returns the list, or an error that is fs.ErrNotExist if there is none yet.
func (p path) read() (keyList, error) {
	info, err := os.Lstat(string(p))
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > maxText:
		return nil, errDamaged
	case info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("its mode is %v, so that others may have read it", info.Mode())
	}
	text, err := os.ReadFile(string(p))
	if err != nil {
		return nil, err
	}
	return decode(text)
}

// update replaces the list by that of change, durably. change gets the present list or the error of
// read; if it returns nil, the list stays.
func (p path) update(change func(keyList, error) keyList) error {
	dir, name := filepath.Split(string(p))
	if err := durable.MkdirAll(filepath.Clean(dir), 0o700); err != nil {
		return err
	}
	lock, err := os.OpenFile(filepath.Join(dir, "."+name+".lock"), os.O_WRONLY|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := flock(lock); err != nil {
		return err
	}
	if l := change(p.read()); l != nil {
		return durable.ReplaceFile(string(p), l.encode(), 0o600)
	}
	return nil
}

// flock waits until no other process updates the file.
func flock(f *os.File) error {
	for {
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// readShared reads the list of a file without a name, which a parent process writes.
func readShared(f *os.File) (keyList, error) {
	text, err := io.ReadAll(io.NewSectionReader(f, 0, maxText))
	switch {
	case err != nil:
		return nil, err
	case len(text) == 0:
		return nil, fs.ErrNotExist
	}
	return decode(text)
}
