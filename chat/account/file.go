package account

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxFile bounds what is read of a file, in bytes.
const maxFile = 64 << 20

// watched is a file that others replace by renaming, or edit in place. The version that was read is kept open:
// its inode can't be used again meanwhile, so a replaced file is always seen.
type watched struct {
	path string
	open *os.File    // nil: there was no file
	info fs.FileInfo // of open when it was read

	complaint string // what was last reported of a file that can't be read
}

// changed costs one stat.
func (w *watched) changed() bool {
	now, err := os.Stat(w.path)
	if err != nil {
		return w.open != nil || !errors.Is(err, fs.ErrNotExist)
	}
	return w.open == nil || !os.SameFile(now, w.info) || now.Size() != w.info.Size() || !now.ModTime().Equal(w.info.ModTime())
}

// read reads the file and makes it the version that changed compares with. A file that is not there is empty.
func (w *watched) read() ([]byte, error) {
	f, err := os.Open(w.path)
	if errors.Is(err, fs.ErrNotExist) {
		w.close()
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	var data []byte
	if err == nil {
		data, err = io.ReadAll(io.LimitReader(f, maxFile+1))
	}
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%s has more than %d bytes: it is no file of accounts", w.path, maxFile)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	w.close()
	w.open, w.info = f, info
	return data, nil
}

func (w *watched) close() {
	if w.open != nil {
		w.open.Close()
	}
	w.open, w.info = nil, nil
}

// lock waits for the exclusive lock of path, which it makes if need be, until the returned file is closed.
func lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := keepOwner(f, filepath.Dir(path)); err != nil {
		f.Close()
		return nil, err
	}
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX)
		if err == nil {
			return f, nil
		}
		if err != unix.EINTR {
			f.Close()
			return nil, fmt.Errorf("%s can't be locked: %w", path, err)
		}
	}
}

// Steps of replace, in their order: a test stops the process at each.
const (
	stepLocked  = "locked"
	stepWritten = "written"
	stepSynced  = "synced"
	stepRenamed = "renamed"
	stepDone    = "done"
)

// replace gives the file new contents, all or nothing, on disk when it returns: a temporary file beside it,
// fsync, rename, fsync of the folder. The caller holds the lock, so nobody else writes the temporary file; what
// a crash left of it is replaced. step is told how far it is.
func replace(path string, data []byte, durable bool, step func(string)) error {
	folder, name := filepath.Split(path)
	temporary := filepath.Join(folder, "."+name+".tmp")
	if err := os.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := fill(f, path, data, durable, step); err != nil {
		os.Remove(temporary)
		return err
	}
	if err := os.Rename(temporary, path); err != nil {
		os.Remove(temporary)
		return err
	}
	step(stepRenamed)
	if durable {
		err = syncFolder(folder)
	}
	step(stepDone)
	return err
}

func fill(f *os.File, path string, data []byte, durable bool, step func(string)) error {
	like := path
	if _, err := os.Stat(path); err != nil {
		like = filepath.Dir(path)
	}
	err := keepOwner(f, like)
	if err == nil {
		_, err = f.Write(data)
	}
	step(stepWritten)
	if err == nil && durable {
		err = f.Sync()
	}
	step(stepSynced)
	return errors.Join(err, f.Close())
}

// keepOwner gives f the owner of like, so that what root changes stays readable for the server's own user.
func keepOwner(f *os.File, like string) error {
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

func syncFolder(folder string) error {
	d, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
