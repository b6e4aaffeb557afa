package files

import (
	"errors"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// root is the directory that is served. When its path comes to name another directory, as when a
// release is switched by a symbolic link, root opens that one.
type root struct {
	path string
	dir  atomic.Pointer[openedRoot]
	mu   sync.Mutex // held while the directory is switched or closed
}

// openedRoot is a directory that was opened at root's path.
type openedRoot struct {
	*os.Root
	info         fs.FileInfo
	openedAt     time.Time    // when it was opened
	checkedAfter atomic.Int64 // nanoseconds from openedAt to the last check
}

func openRoot(path string) (*root, error) {
	if path == "" {
		return nil, errors.New("the path is empty: write the path of a directory")
	}
	o, err := openRootAt(path)
	if err != nil {
		return nil, err
	}
	r := &root{path: path}
	r.dir.Store(o)
	return r, nil
}

func openRootAt(path string) (*openedRoot, error) {
	dir, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	info, err := dir.Stat(".")
	if err != nil {
		_ = dir.Close()
		return nil, err
	}
	return &openedRoot{Root: dir, info: info, openedAt: time.Now()}, nil
}

// current returns the directory at the path. While the path does not exist, it returns the former
// directory.
func (r *root) current() *openedRoot {
	o := r.dir.Load()
	since := time.Since(o.openedAt)
	if since-time.Duration(o.checkedAfter.Load()) < rootRecheckInterval {
		return o
	}
	info, err := os.Stat(r.path)
	if err != nil || os.SameFile(info, o.info) {
		o.checkedAfter.Store(int64(since))
		return o
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dir.Load() != o {
		return r.dir.Load()
	}
	next, err := openRootAt(r.path)
	if err != nil {
		return o
	}
	r.dir.Store(next)
	_ = o.Close() // goroutines that use it call use again for the next
	return next
}

// use calls f with the directory. It calls f again if the directory was switched and closed in the
// meantime.
func (r *root) use(f func(*os.Root) error) error {
	for {
		o := r.current()
		err := f(o.Root)
		if !errors.Is(err, os.ErrClosed) || r.dir.Load() == o {
			return err
		}
	}
}

// open opens a regular file, without blocking on a named pipe.
func (r *root) open(name string) (file *os.File, s stamp, err error) {
	err = r.use(func(dir *os.Root) error {
		file, err = dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		return err
	})
	if err != nil {
		return nil, s, err
	}
	info, err := file.Stat()
	if err == nil {
		err = checkRegular(info)
	}
	if err != nil {
		_ = file.Close()
		return nil, s, err
	}
	return file, newStamp(info), nil
}

// stat returns the stamp of a regular file.
func (r *root) stat(name string) (s stamp, err error) {
	var info fs.FileInfo
	err = r.use(func(dir *os.Root) error {
		info, err = dir.Stat(name)
		return err
	})
	if err != nil {
		return s, err
	}
	return newStamp(info), checkRegular(info)
}

func (r *root) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.dir.Load().Close()
}
