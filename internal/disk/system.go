package disk

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// System is the operating system's file system.
var System FS = system{}

type system struct{}

func (system) OpenFile(name string, flag int, mode fs.FileMode) (File, error) {
	return wrap(os.OpenFile(name, flag, mode))
}

func (system) CreateTemp(dir, pattern string) (File, error) { return wrap(os.CreateTemp(dir, pattern)) }

func wrap(f *os.File, err error) (File, error) {
	if err != nil {
		return nil, err
	}
	return systemFile{f, int(f.Fd())}, nil
}

func (system) Stat(name string) (fs.FileInfo, error)         { return os.Stat(name) }
func (system) Lstat(name string) (fs.FileInfo, error)        { return os.Lstat(name) }
func (system) SameFile(a, b fs.FileInfo) bool                { return os.SameFile(a, b) }
func (system) ReadDir(name string) ([]fs.DirEntry, error)    { return os.ReadDir(name) }
func (system) Readlink(name string) (string, error)          { return os.Readlink(name) }
func (system) Mkdir(name string, mode fs.FileMode) error     { return os.Mkdir(name, mode) }
func (system) MkdirTemp(dir, pattern string) (string, error) { return os.MkdirTemp(dir, pattern) }
func (system) Link(from, to string) error                    { return os.Link(from, to) }
func (system) Symlink(target, name string) error             { return os.Symlink(target, name) }
func (system) Rename(from, to string) error                  { return os.Rename(from, to) }
func (system) Exchange(a, b string) error                    { return exchange(a, b) }
func (system) Remove(name string) error                      { return os.Remove(name) }
func (system) RemoveAll(name string) error                   { return os.RemoveAll(name) }
func (system) Chmod(name string, mode fs.FileMode) error     { return os.Chmod(name, mode) }

// systemFile is an open file of the operating system. Fd, once called, makes the file blocking,
// which files are anyway.
type systemFile struct {
	*os.File
	fd int
}

func (f systemFile) State() (State, error) {
	st, err := stateOf(f.fd)
	return st, f.pathError("stat", err)
}

// fstat returns the state of a file by fstat(2).
func fstat(fd int) (State, error) {
	var st unix.Stat_t
	err := retry(func() error { return unix.Fstat(fd, &st) })
	return State{Size: st.Size, Mode: fs.FileMode(st.Mode & 0o777), Links: uint64(st.Nlink)}, err
}

func (f systemFile) Lock() error    { return f.flock(unix.LOCK_EX) }
func (f systemFile) TryLock() error { return f.flock(unix.LOCK_EX | unix.LOCK_NB) }
func (f systemFile) Unlock() error  { return f.flock(unix.LOCK_UN) }

func (f systemFile) flock(how int) error {
	return f.pathError("lock", retry(func() error { return unix.Flock(f.fd, how) }))
}

func (f systemFile) Map(size int, writable bool) (mem []byte, unmap func(), err error) {
	prot := unix.PROT_READ
	if writable {
		prot |= unix.PROT_WRITE
	}
	mem, err = unix.Mmap(f.fd, 0, size, prot, unix.MAP_SHARED)
	if err != nil {
		return nil, nil, f.pathError("map", err)
	}
	return mem, func() { _ = unix.Munmap(mem) }, nil
}

// pathError adds the call and the file's name to an error.
func (f systemFile) pathError(call string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: call, Path: f.Name(), Err: err}
}

// retry calls do until no signal interrupts it.
func retry(do func() error) error {
	for {
		if err := do(); err != unix.EINTR {
			return err
		}
	}
}
