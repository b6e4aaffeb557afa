package simdisk

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"weir/internal/disk"
)

// file is an open file. Its fields are guarded by the lock of the disk.
type file struct {
	p      *Process
	ino    *inode
	name   string
	flag   int
	pos    int // of Read and Write
	closed bool
}

func (f *file) Name() string { return f.name }

// reads and writes report whether the file is open for that.
func (f *file) reads() bool  { return f.flag&(os.O_WRONLY|os.O_RDWR) != os.O_WRONLY }
func (f *file) writes() bool { return f.flag&(os.O_WRONLY|os.O_RDWR) != 0 }

// look runs a call that changes nothing.
func (f *file) look(op string, do func() error) error {
	return pathError(op, f.name, f.p.look(func() error {
		if f.closed {
			return os.ErrClosed
		}
		return do()
	}))
}

// change runs a call that changes the disk.
func (f *file) change(op Op, bytes int, do func(fate) error) error {
	return pathError(string(op), f.name, f.p.change(Call{op, f.name, bytes}, func(x fate) error {
		if f.closed {
			return os.ErrClosed
		}
		return do(x)
	}))
}

func (f *file) Read(b []byte) (n int, err error) {
	err = f.look("read", func() (err error) {
		n, err = f.readAt(b, int64(f.pos))
		f.pos += n
		return err
	})
	if n > 0 || len(b) == 0 {
		return n, nil
	}
	return n, unwrapEOF(err)
}

func (f *file) ReadAt(b []byte, at int64) (n int, err error) {
	err = f.look("read", func() (err error) {
		n, err = f.readAt(b, at)
		if err == nil && n < len(b) {
			err = io.EOF
		}
		return err
	})
	return n, unwrapEOF(err)
}

func (f *file) readAt(b []byte, at int64) (int, error) {
	switch {
	case len(b) == 0:
		return 0, nil
	case !f.reads():
		return 0, unix.EBADF
	case f.ino.isDir():
		return 0, unix.EISDIR
	case at < 0:
		return 0, unix.EINVAL
	}
	f.ino.refresh()
	if at >= int64(len(f.ino.data)) {
		return 0, io.EOF
	}
	return copy(b, f.ino.data[at:]), nil
}

func unwrapEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	return err
}

func (f *file) Write(b []byte) (n int, err error) {
	err = f.change(OpWrite, len(b), func(x fate) (err error) {
		if f.flag&os.O_APPEND != 0 {
			f.pos = len(f.ino.data)
		}
		n, err = f.writeAt(b[:x.bytes], f.pos)
		f.pos += n
		return err
	})
	return n, err
}

func (f *file) WriteAt(b []byte, at int64) (n int, err error) {
	if f.flag&os.O_APPEND != 0 || at < 0 {
		return 0, pathError("writeat", f.name, unix.EINVAL)
	}
	if len(b) == 0 { // package os makes no call
		return 0, f.look("write", func() error { return nil })
	}
	err = f.change(OpWrite, len(b), func(x fate) (err error) {
		n, err = f.writeAt(b[:x.bytes], int(at))
		return err
	})
	return n, err
}

// writeAt writes as much as there is space for.
func (f *file) writeAt(b []byte, at int) (int, error) {
	if !f.writes() {
		return 0, unix.EBADF
	}
	n, d := f.ino, f.p.d
	had := sectors(len(n.data))
	fits := b
	for len(fits) > 0 && !d.hasSpace(max(had, sectors(at+len(fits)))-had) {
		fits = fits[:max(0, int(had+d.space-d.used)*sectorSize-at)]
	}
	d.seq++
	n.time = d.seq
	n.write(fits, at)
	d.used += sectors(len(n.data)) - had
	if len(fits) < len(b) {
		return len(fits), unix.ENOSPC
	}
	return len(b), nil
}

func (f *file) Truncate(size int64) error {
	return f.change(OpTruncate, 0, func(fate) error {
		switch {
		case !f.writes() || size < 0:
			return unix.EINVAL
		case !f.p.d.hasSpace(sectors(int(size)) - sectors(len(f.ino.data))):
			return unix.ENOSPC
		}
		f.p.d.truncate(f.ino, int(size))
		return nil
	})
}

func (f *file) Sync() error     { return f.sync(true) }
func (f *file) Datasync() error { return f.sync(false) }

func (f *file) sync(all bool) error {
	return f.change(OpSync, 0, func(x fate) error {
		d, failing := f.p.d, f.p.d.faults.SyncFile
		if f.ino.isDir() {
			failing = d.faults.SyncFolder
		}
		if x.err == nil && failing > 0 && d.rng.Float64() < failing {
			x.err = unix.EIO
		}
		switch {
		case f.ino.isDir() && x.err == nil:
			d.syncNames(f.ino)
		case x.err == nil:
			f.ino.sync(all)
		case !f.ino.isDir():
			f.ino.failSync()
		}
		return x.err
	})
}

func (f *file) Chmod(mode fs.FileMode) error {
	return f.change(OpChmod, 0, func(fate) error {
		f.ino.chmod(mode)
		return nil
	})
}

// Chown does nothing: there is one user.
func (f *file) Chown(uid, gid int) error { return f.look("chown", func() error { return nil }) }

func (f *file) Stat() (info fs.FileInfo, err error) {
	err = f.look("stat", func() error {
		info = f.ino.info(f.name)
		return nil
	})
	return info, err
}

func (f *file) State() (st disk.State, err error) {
	err = f.look("stat", func() error {
		f.ino.refresh()
		st = disk.State{Size: int64(len(f.ino.data)), Mode: f.ino.mode.Perm(), Links: uint64(f.ino.links)}
		return nil
	})
	return st, err
}

func (f *file) Lock() error { return f.lock(true) }

func (f *file) TryLock() error { return f.lock(false) }

func (f *file) lock(wait bool) error {
	return f.look("lock", func() error {
		for f.ino.locker != nil && f.ino.locker != f {
			if !wait {
				return unix.EWOULDBLOCK
			}
			f.p.d.wake.Wait()
			if err := f.p.endedLocked(); err != nil {
				return err
			}
			if f.closed {
				return os.ErrClosed
			}
		}
		f.ino.locker = f
		return nil
	})
}

func (f *file) Unlock() error {
	return f.look("lock", func() error {
		f.unlockLocked()
		return nil
	})
}

func (f *file) unlockLocked() {
	if f.ino.locker == f {
		f.ino.locker = nil
		f.p.d.wake.Broadcast()
	}
}

func (f *file) Map(size int, writable bool) (mem []byte, unmap func(), err error) {
	err = f.look("map", func() error {
		switch {
		case size <= 0 || size > len(f.ino.data) || f.ino.memory != nil && size > 8*len(f.ino.memory):
			return unix.EINVAL
		case !f.reads() || writable && !f.writes():
			return unix.EACCES
		}
		if f.ino.memory == nil {
			f.p.d.mapped = append(f.p.d.mapped, f.ino)
		}
		words := f.ino.mapMemory(size)
		mem = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), size)
		return nil
	})
	return mem, func() {}, err
}

func (f *file) Close() error {
	return f.look("close", func() error {
		f.closeLocked()
		return nil
	})
}

func (f *file) closeLocked() {
	f.closed = true
	f.unlockLocked()
	delete(f.p.files, f)
	f.ino.opens--
	f.p.d.release(f.ino)
}
