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

// root is the directory that is served. When its path comes to name another directory (a release is
// switched by a symbolic link), that one is served.
type root struct {
	path string
	now  atomic.Pointer[opened]
	mu   sync.Mutex // held by who switches, or closes
}

// opened is a directory as it was found at the path.
type opened struct {
	*os.Root
	info    fs.FileInfo
	at      time.Time    // when it was opened
	checked atomic.Int64 // since then, when it was last seen at the path
}

func openRoot(path string) (*root, error) {
	if path == "" {
		return nil, errors.New("it is empty: write the path of a directory")
	}
	o, err := newOpened(path)
	if err != nil {
		return nil, err
	}
	r := &root{path: path}
	r.now.Store(o)
	return r, nil
}

func newOpened(path string) (*opened, error) {
	dir, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	info, err := dir.Stat(".")
	if err != nil {
		_ = dir.Close()
		return nil, err
	}
	return &opened{Root: dir, info: info, at: time.Now()}, nil
}

// current is the directory at the path. While there is none, it is the one that was there.
func (r *root) current() *opened {
	o := r.now.Load()
	since := time.Since(o.at)
	if since-time.Duration(o.checked.Load()) < recheckRoot {
		return o
	}
	info, err := os.Stat(r.path)
	if err != nil || os.SameFile(info, o.info) {
		o.checked.Store(int64(since))
		return o
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.now.Load() != o {
		return r.now.Load()
	}
	next, err := newOpened(r.path)
	if err != nil {
		return o
	}
	r.now.Store(next)
	_ = o.Close() // who is using it comes back for the next: see use
	return next
}

// use calls f with the directory.
func (r *root) use(f func(*os.Root) error) error {
	for {
		o := r.current()
		err := f(o.Root)
		if !errors.Is(err, os.ErrClosed) || r.now.Load() == o {
			return err
		}
	}
}

// open opens a regular file. A pipe is not waited for.
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
		err = kindOf(info)
	}
	if err != nil {
		_ = file.Close()
		return nil, s, err
	}
	return file, newStamp(info), nil
}

// stat is the stamp of a regular file.
func (r *root) stat(name string) (s stamp, err error) {
	var info fs.FileInfo
	err = r.use(func(dir *os.Root) error {
		info, err = dir.Stat(name)
		return err
	})
	if err != nil {
		return s, err
	}
	return newStamp(info), kindOf(info)
}

func (r *root) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now.Load().Close()
}
