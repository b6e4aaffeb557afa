package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"weir/internal/disk"
)

// Step is the progress of a replacement.
type Step string

// The steps of a replacement, in their order.
const (
	Written Step = "written" // the temporary file has its contents
	Synced  Step = "synced"  // the contents are on the disk
	Renamed Step = "renamed" // the file has its new contents
	Done    Step = "done"    // the folder is on the disk, too
)

// Files writes files. The zero value is right for all data that is acknowledged.
type Files struct {
	Disk disk.FS // nil: the operating system's
	// A replacement is atomic, but a loss of power may bring the old contents back.
	Revertible bool
	// A replacement is atomic as long as the power does not fail. After that the file may have the
	// old contents, the new ones, a part of them, or whatever the disk had there.
	Unsynced bool
	Step     func(Step) // called at each step, if not nil: tests stop the process there
}

func (w Files) disk() disk.FS { return disk.Or(w.Disk) }

// ReplaceFile replaces the contents of the file at path, durably and atomically. A file that root
// replaces keeps its owner; a new file gets its folder's owner.
func ReplaceFile(path string, data []byte, mode os.FileMode) error {
	return Files{}.ReplaceFile(path, data, mode)
}

// ReplaceFile is the package's ReplaceFile with the options of w.
func (w Files) ReplaceFile(path string, data []byte, mode os.FileMode) error {
	temp := tempName(path)
	if err := w.write(temp, path, data, mode); err != nil {
		return err
	}
	undo, syncFolder := func() {}, !w.Unsynced && !w.Revertible
	if syncFolder {
		var err error
		if undo, err = w.keepOldName(path); err != nil {
			w.disk().Remove(temp)
			return err
		}
		defer w.disk().Remove(oldName(path)) // if this fails, the next replacement removes it
	}
	if err := w.disk().Rename(temp, path); err != nil {
		w.disk().Remove(temp)
		return err
	}
	w.reached(Renamed)
	if syncFolder {
		if err := w.SyncDir(filepath.Dir(path)); err != nil {
			undo()
			return err
		}
	}
	w.reached(Done)
	return nil
}

// keepOldName gives the file at path a second name until its replacement is durable. undo reverts
// the replacement by a rename, which needs no space on the disk and no descriptor. On a file system
// without hard links, undo does nothing.
func (w Files) keepOldName(path string) (undo func(), err error) {
	d, old := w.disk(), oldName(path)
	d.Remove(old) // left by a crash
	switch err := d.Link(path, old); {
	case err == nil:
		return func() { d.Rename(old, path) }, nil
	case errors.Is(err, fs.ErrNotExist):
		return func() { d.Remove(path) }, nil
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EIO), errors.Is(err, syscall.EROFS):
		return nil, err
	}
	return func() {}, nil
}

// CreateFile is ReplaceFile for a file that must not exist. One of several callers makes it; the
// others get an error that is fs.ErrExist. Each caller writes a temporary file of its own.
func CreateFile(path string, data []byte, mode os.FileMode) error {
	return Files{}.CreateFile(path, data, mode)
}

// CreateFile is the package's CreateFile on the disk of w.
func (w Files) CreateFile(path string, data []byte, mode os.FileMode) error {
	d := w.disk()
	f, err := d.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	defer d.Remove(f.Name()) // if this fails, RemoveTemps removes it
	if err := errors.Join(f.Chmod(mode), Files{Disk: w.Disk}.fill(f, path, data)); err != nil {
		return err
	}
	if err := d.Link(f.Name(), path); err != nil {
		return err
	}
	if err := w.SyncDir(filepath.Dir(path)); err != nil {
		d.Remove(path)
		return err
	}
	return nil
}

func (w Files) reached(step Step) {
	if w.Step != nil {
		w.Step(step)
	}
}

func tempName(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".tmp")
}

func oldName(path string) string { return tempName(path + ".old") }

// write makes the temporary file of path and replaces one that a crash left. It leaves none after
// an error.
func (w Files) write(temp, path string, data []byte, mode os.FileMode) error {
	d := w.disk()
	if err := d.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := d.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	if err := w.fill(f, path, data); err != nil {
		d.Remove(temp)
		return err
	}
	return nil
}

func (w Files) fill(f disk.File, path string, data []byte) error {
	like := path
	if _, err := w.disk().Stat(path); err != nil {
		like = filepath.Dir(path)
	}
	err := w.KeepOwner(f, like)
	if err == nil {
		_, err = f.Write(data)
	}
	w.reached(Written)
	if err == nil && !w.Unsynced {
		err = f.Sync()
	}
	w.reached(Synced)
	return errors.Join(err, f.Close())
}

// KeepOwner gives f the owner of like if the process runs as root, so that a file that root changes
// stays readable for its user.
func (w Files) KeepOwner(f disk.File, like string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := w.disk().Stat(like)
	if err != nil {
		return err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return f.Chown(int(st.Uid), int(st.Gid))
	}
	return nil
}

// Remove removes a file durably. A missing file is no error.
func (w Files) Remove(path string) error {
	if err := w.disk().Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := w.SyncDir(filepath.Dir(path)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// RemoveTemps removes the temporary files that crashes left in a folder, and those of the patterns
// in others (see filepath.Match). No goroutine or process may replace a file of the folder
// meanwhile. A missing folder is no error.
func RemoveTemps(dir string, others ...string) error { return Files{}.RemoveTemps(dir, others...) }

// RemoveTemps is the package's RemoveTemps on the disk of w.
func (w Files) RemoveTemps(dir string, others ...string) error {
	entries, err := w.disk().ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var errs []error
	for _, e := range entries {
		if !e.Type().IsRegular() || !isTemp(e.Name(), others) {
			continue
		}
		if err := w.disk().Remove(filepath.Join(dir, e.Name())); err != nil {
			errs = append(errs, fmt.Errorf("a crash's temporary file cannot be removed: %w", err))
		}
	}
	return errors.Join(errs...)
}

func isTemp(name string, others []string) bool {
	for _, pattern := range others {
		if ok, _ := filepath.Match(pattern, name); ok {
			return true
		}
	}
	return strings.HasPrefix(name, ".") && strings.HasSuffix(name, ".tmp")
}

// RemoveTempOf removes the temporary files that crashes left of these files. No goroutine or
// process may replace them meanwhile.
func RemoveTempOf(paths ...string) error { return Files{}.RemoveTempOf(paths...) }

// RemoveTempOf is the package's RemoveTempOf on the disk of w.
func (w Files) RemoveTempOf(paths ...string) error {
	var errs []error
	for _, path := range paths {
		for _, name := range []string{tempName(path), oldName(path)} {
			if err := w.disk().Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}
