package log

import (
	"errors"
	"os"
	"sync/atomic"
	"time"
)

var errDead = errors.New("the process is dead")

// faultFS is a file system that lies. Its fields say how; functions may be nil.
type faultFS struct {
	dieAt int // from this call on that changes something, nothing happens any more; 0: never
	dying way // what becomes of the call at which it dies
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

// way is how a process dies in a call.
type way int

const (
	before way = iota // the call does nothing
	torn              // a write writes half
	after             // the call is done, its caller does not hear of it
)

func (w way) String() string { return [...]string{"before", "in the middle of", "after"}[w] }

// call runs do unless the process is dead.
func (f *faultFS) call(do func() error) error {
	n := f.calls.Add(1)
	if f.dieAt == 0 || n < int64(f.dieAt) {
		return do()
	}
	if n == int64(f.dieAt) && f.dying == after {
		_ = do()
	}
	return errDead
}

func (f *faultFS) Open(name string, flag int, mode os.FileMode) (file File, err error) {
	open := func() error {
		if f.open != nil {
			if err := f.open(name, flag); err != nil {
				return &os.PathError{Op: "open", Path: name, Err: err}
			}
		}
		file, err = systemFS{}.Open(name, flag, mode)
		return err
	}
	if flag&os.O_CREATE != 0 {
		err = f.call(open)
	} else {
		err = open()
	}
	if err != nil {
		if file != nil {
			file.Close()
		}
		return nil, err
	}
	return faultFile{file, f}, nil
}

func (f *faultFS) Rename(from, to string) error {
	return f.call(func() error { return systemFS{}.Rename(from, to) })
}

func (f *faultFS) Remove(name string) error {
	return f.call(func() error { return systemFS{}.Remove(name) })
}

func (f *faultFS) Chmod(name string, mode os.FileMode) error {
	return f.call(func() error { return systemFS{}.Chmod(name, mode) })
}

func (f *faultFS) SyncDir(name string) error {
	return f.call(func() error {
		if f.dirSync != nil {
			if err := f.dirSync(); err != nil {
				return err
			}
		}
		if f.noSync {
			return nil
		}
		return systemFS{}.SyncDir(name)
	})
}

type faultFile struct {
	File
	f *faultFS
}

func (x faultFile) WriteAt(p []byte, at int64) (n int, err error) {
	err = x.f.call(func() error {
		if x.f.write != nil {
			if n, err := x.f.write(p); err != nil {
				_, _ = x.File.WriteAt(p[:n], at)
				return err
			}
		}
		n, err = x.File.WriteAt(p, at)
		return err
	})
	if errors.Is(err, errDead) && x.f.dying == torn && x.f.calls.Load() == int64(x.f.dieAt) {
		_, _ = x.File.WriteAt(p[:len(p)/2], at)
	}
	return n, err
}

func (x faultFile) Truncate(size int64) error {
	return x.f.call(func() error {
		if x.f.cut != nil {
			if err := x.f.cut(size); err != nil {
				return err
			}
		}
		return x.File.Truncate(size)
	})
}

func (x faultFile) Datasync() error {
	return x.f.call(func() error {
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
	})
}
