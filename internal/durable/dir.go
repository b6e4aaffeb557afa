package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"weir/internal/disk"
)

// SyncDir makes the names in a folder durable: files that were created, renamed or removed in it.
func SyncDir(dir string) error { return Files{}.SyncDir(dir) }

// SyncDir is the package's SyncDir on the disk of w.
func (w Files) SyncDir(dir string) error {
	d, err := disk.Open(w.disk(), dir)
	if err != nil {
		return err
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("cannot sync the folder %s: %w", dir, err)
	}
	return nil
}

// MkdirAll makes a folder and its missing parents durably: the name of each is on the disk. It
// syncs the parent of an existing folder, too: the process that made it may have been killed before
// its sync, or the sync may have failed.
func MkdirAll(dir string, mode os.FileMode) error { return Files{}.MkdirAll(dir, mode) }

// MkdirAll is the package's MkdirAll on the disk of w.
func (w Files) MkdirAll(dir string, mode os.FileMode) error {
	parent := filepath.Dir(dir)
	if info, err := w.disk().Stat(dir); err == nil && info.IsDir() {
		return ignoreForeignParent(w.SyncDir(parent))
	}
	if parent != dir {
		if err := w.MkdirAll(parent, mode); err != nil {
			return err
		}
	}
	if err := w.disk().Mkdir(dir, mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if info, err := w.disk().Stat(dir); err != nil {
		return err
	} else if !info.IsDir() {
		return fmt.Errorf("%s is there, and is no folder", dir)
	}
	return w.SyncDir(parent)
}

// ignoreForeignParent ignores that this process cannot sync the parent of an existing folder,
// because of its permissions, or because its file system does not support it. An administrator made
// such a folder.
func ignoreForeignParent(err error) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EINVAL) {
		return nil
	}
	return err
}
