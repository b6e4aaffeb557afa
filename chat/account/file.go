package account

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"weir/internal/durable"
)

// maxFile bounds what is read of a file, in bytes.
const maxFile = 64 << 20

// watched is a file that others replace by renaming, or edit in place. The version that was read is
// kept open: its inode can't be used again meanwhile, so a replaced file is always seen.
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

// read reads the file and makes it the version that changed compares with. A file that is not there
// is empty.
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

// lock waits for the exclusive lock of path, which it makes if need be, until the returned file is
// closed.
func lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := durable.KeepOwner(f, filepath.Dir(path)); err != nil {
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

// stepLocked is the step before those of durable.
const stepLocked durable.Step = "locked"

func (o Options) reached(step durable.Step) {
	if o.step != nil {
		o.step(step)
	}
}

// replace replaces a file durably. The caller holds the lock, so nobody else writes the temporary
// file.
func (o Options) replace(path string, data []byte) error {
	return durable.Replacer{Step: o.step}.ReplaceFile(path, data, 0o600)
}
