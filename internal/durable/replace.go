package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
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

// Replacer replaces files. The zero value is right for all data that is acknowledged.
type Replacer struct {
	Unsynced bool       // atomic, but a loss of power may revert the new contents
	Step     func(Step) // called at each step, if not nil: tests stop the process there
}

// ReplaceFile replaces the contents of the file at path, durably and atomically. A file that root
// replaces keeps its owner; a new file gets its folder's owner.
func ReplaceFile(path string, data []byte, mode os.FileMode) error {
	return Replacer{}.ReplaceFile(path, data, mode)
}

// ReplaceFile is the package's ReplaceFile with the options of r.
func (r Replacer) ReplaceFile(path string, data []byte, mode os.FileMode) error {
	temp := tempName(path)
	if err := r.write(temp, path, data, mode); err != nil {
		return err
	}
	undo := func() {}
	if !r.Unsynced {
		undo = keepOldName(path)
		defer os.Remove(oldName(path)) // if this fails, the next replacement removes it
	}
	if err := os.Rename(temp, path); err != nil {
		os.Remove(temp)
		return err
	}
	r.reached(Renamed)
	if !r.Unsynced {
		if err := SyncDir(filepath.Dir(path)); err != nil {
			undo()
			return err
		}
	}
	r.reached(Done)
	return nil
}

// keepOldName gives the file at path a second name until its replacement is durable. undo reverts
// the replacement by a rename, which needs no space on the disk and no descriptor. On a file system
// without hard links, undo does nothing.
func keepOldName(path string) (undo func()) {
	old := oldName(path)
	os.Remove(old) // left by a crash
	switch err := os.Link(path, old); {
	case errors.Is(err, fs.ErrNotExist):
		return func() { os.Remove(path) }
	case err != nil:
		return func() {}
	}
	return func() { os.Rename(old, path) }
}

// CreateFile is ReplaceFile for a file that must not exist. One of several callers makes it; the
// others get an error that is fs.ErrExist. Each caller writes a temporary file of its own.
func CreateFile(path string, data []byte, mode os.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // if this fails, RemoveTemps removes it
	if err := errors.Join(f.Chmod(mode), (Replacer{}).fill(f, path, data)); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil {
		return err
	}
	if err := SyncDir(filepath.Dir(path)); err != nil {
		os.Remove(path)
		return err
	}
	return nil
}

func (r Replacer) reached(step Step) {
	if r.Step != nil {
		r.Step(step)
	}
}

func tempName(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".tmp")
}

func oldName(path string) string { return tempName(path + ".old") }

// write makes the temporary file of path and replaces one that a crash left. It leaves none after
// an error.
func (r Replacer) write(temp, path string, data []byte, mode os.FileMode) error {
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	if err := r.fill(f, path, data); err != nil {
		os.Remove(temp)
		return err
	}
	return nil
}

func (r Replacer) fill(f *os.File, path string, data []byte) error {
	like := path
	if _, err := os.Stat(path); err != nil {
		like = filepath.Dir(path)
	}
	err := KeepOwner(f, like)
	if err == nil {
		_, err = f.Write(data)
	}
	r.reached(Written)
	if err == nil && !r.Unsynced {
		err = f.Sync()
	}
	r.reached(Synced)
	return errors.Join(err, f.Close())
}

// KeepOwner gives f the owner of like if the process runs as root, so that a file that root changes
// stays readable for its user.
func KeepOwner(f *os.File, like string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := os.Stat(like)
	if err != nil {
		return err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return f.Chown(int(st.Uid), int(st.Gid))
	}
	return nil
}

// RemoveTemps removes the temporary files that crashes left in a folder, and those of the patterns
// in others (see filepath.Match). No goroutine or process may replace a file of the folder
// meanwhile. A missing folder is no error.
func RemoveTemps(dir string, others ...string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var errs []error
	for _, e := range entries {
		if !e.Type().IsRegular() || !isTemp(e.Name(), others) {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
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
func RemoveTempOf(paths ...string) error {
	var errs []error
	for _, path := range paths {
		for _, name := range []string{tempName(path), oldName(path)} {
			if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}
