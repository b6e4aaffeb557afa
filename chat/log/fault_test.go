package log

import (
	"errors"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

var errDead = errors.New("the process is dead")

// faultFS is a file system that lies. Its fields say how; functions may be nil.
type faultFS struct {
	dieAt int // from this call on that changes something, nothing happens any more; 0: never
	calls atomic.Int64

	write   func(p []byte) (n int, err error) // n < len(p): only so much is written
	sync    func() error
	open    func(name string, flag int) error
	cut     func(size int64) error
	noSync  bool
	slow    time.Duration
	syncs   atomic.Int64
	dirSync func() error
}

func (f *faultFS) dead() error {
	if n := f.calls.Add(1); f.dieAt > 0 && n >= int64(f.dieAt) {
		return errDead
	}
	return nil
}

func (f *faultFS) Open(name string, flag int, mode os.FileMode) (File, error) {
	if flag&os.O_CREATE != 0 {
		if err := f.dead(); err != nil {
			return nil, err
		}
	}
	if f.open != nil {
		if err := f.open(name, flag); err != nil {
			return nil, &os.PathError{Op: "open", Path: name, Err: err}
		}
	}
	file, err := systemFS{}.Open(name, flag, mode)
	if err != nil {
		return nil, err
	}
	return faultFile{file, f}, nil
}

func (f *faultFS) Rename(from, to string) error {
	if err := f.dead(); err != nil {
		return err
	}
	return systemFS{}.Rename(from, to)
}

func (f *faultFS) Remove(name string) error {
	if err := f.dead(); err != nil {
		return err
	}
	return systemFS{}.Remove(name)
}

func (f *faultFS) Chmod(name string, mode os.FileMode) error {
	if err := f.dead(); err != nil {
		return err
	}
	return systemFS{}.Chmod(name, mode)
}

func (f *faultFS) SyncDir(name string) error {
	if err := f.dead(); err != nil {
		return err
	}
	if f.dirSync != nil {
		if err := f.dirSync(); err != nil {
			return err
		}
	}
	if f.noSync {
		return nil
	}
	return systemFS{}.SyncDir(name)
}

type faultFile struct {
	File
	f *faultFS
}

func (x faultFile) WriteAt(p []byte, at int64) (int, error) {
	if err := x.f.dead(); err != nil {
		return 0, err
	}
	if x.f.write != nil {
		if n, err := x.f.write(p); err != nil {
			_, _ = x.File.WriteAt(p[:n], at)
			return n, err
		}
	}
	return x.File.WriteAt(p, at)
}

func (x faultFile) Truncate(size int64) error {
	if err := x.f.dead(); err != nil {
		return err
	}
	if x.f.cut != nil {
		if err := x.f.cut(size); err != nil {
			return err
		}
	}
	return x.File.Truncate(size)
}

func (x faultFile) Datasync() error {
	if err := x.f.dead(); err != nil {
		return err
	}
	x.f.syncs.Add(1)
	time.Sleep(x.f.slow)
	if x.f.sync != nil {
		if err := x.f.sync(); err != nil {
			return &os.PathError{Op: "fdatasync", Path: "segment", Err: err}
		}
	}
	if x.f.noSync {
		return nil
	}
	return x.File.Datasync()
}

var _ = unix.EIO
