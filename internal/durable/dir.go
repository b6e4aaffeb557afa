package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// SyncDir makes the names in a folder durable: files that were created, renamed or removed in it.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
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
func MkdirAll(dir string, mode os.FileMode) error {
	return mkdirAll(dir, mode, SyncDir)
}

func mkdirAll(dir string, mode os.FileMode, sync func(dir string) error) error {
	parent := filepath.Dir(dir)
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return ignoreForeignParent(sync(parent))
	}
	if parent != dir {
		if err := mkdirAll(parent, mode, sync); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if info, err := os.Stat(dir); err != nil {
		return err
	} else if !info.IsDir() {
		return fmt.Errorf("%s is there, and is no folder", dir)
	}
	return sync(parent)
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
