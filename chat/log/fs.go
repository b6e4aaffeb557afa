package log

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"weir/internal/durable"
)

// FS is the file system of the segments. The default of Options.FS is the operating system's; tests
// pass one that fails. Names are paths. Errors are those of package os: errors.Is finds
// fs.ErrNotExist and unix.ENOSPC in them.
type FS interface {
	Open(name string, flag int, mode os.FileMode) (File, error)
	Rename(from, to string) error
	Remove(name string) error
	Chmod(name string, mode os.FileMode) error
	SyncDir(name string) error // makes the names in a folder durable
}

// File is an open segment.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Truncate(size int64) error
	Datasync() error // returns when the bytes are on disk
	State() (FileState, error)
}

// FileState is the state of an open file.
type FileState struct {
	Size int64
	// the file has a name, and its mode permits writing and not executing: it was not replaced,
	// removed or finished
	InUse bool
}

type systemFS struct{}

func (systemFS) Open(name string, flag int, mode os.FileMode) (File, error) {
	f, err := os.OpenFile(name, flag, mode)
	if err != nil {
		return nil, err
	}
	return systemFile{f, int(f.Fd())}, nil
}

func (systemFS) Rename(from, to string) error              { return os.Rename(from, to) }
func (systemFS) Remove(name string) error                  { return os.Remove(name) }
func (systemFS) Chmod(name string, mode os.FileMode) error { return os.Chmod(name, mode) }
func (systemFS) SyncDir(name string) error                 { return durable.SyncDir(name) }

type systemFile struct {
	*os.File
	fd int
}

func (f systemFile) State() (FileState, error) {
	var st unix.Stat_t
	for {
		err := unix.Fstat(f.fd, &st)
		if err == nil {
			return FileState{Size: st.Size, InUse: st.Mode&0o300 == 0o200 && st.Nlink > 0}, nil
		}
		if err != unix.EINTR {
			return FileState{}, &os.PathError{Op: "stat", Path: f.Name(), Err: err}
		}
	}
}

// lock is a file lock that one Log at a time has, in this process or another.
type lock struct{ f *os.File }

func openLock(name string) (lock, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	return lock{f}, err
}

func (k lock) take() error {
	for {
		err := unix.Flock(int(k.f.Fd()), unix.LOCK_EX)
		if err == nil {
			return nil
		}
		if err != unix.EINTR {
			return fmt.Errorf("%w: lock %s: %w", ErrFailing, k.f.Name(), err)
		}
	}
}

// release releases the lock. It cannot fail while the lock is taken.
func (k lock) release() { _ = unix.Flock(int(k.f.Fd()), unix.LOCK_UN) }
