package account

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"weir/internal/disk"
	"weir/internal/durable"
)

// maxFile is the size limit of a file, in bytes.
const maxFile = 64 << 20

// watchedFile is a file that other processes replace by renaming, or edit in place. The version
// that was read stays open, so its inode is not reused, and a replaced file is always noticed.
type watchedFile struct {
	disk disk.FS
	path string
	file disk.File   // nil: the file did not exist
	info fs.FileInfo // state of the open file when it was read

	reportedError string // text of the last error that was reported, "" if the last read succeeded
}

// changed reports whether the file differs from the version that was read. It costs one stat.
func (w *watchedFile) changed() bool {
	now, err := w.disk.Stat(w.path)
	if err != nil {
		return w.file != nil || !errors.Is(err, fs.ErrNotExist)
	}
	return w.file == nil || !w.disk.SameFile(now, w.info) || now.Size() != w.info.Size() || !now.ModTime().Equal(w.info.ModTime())
}

// read reads the file and makes it the version that changed compares with. A missing file is empty.
func (w *watchedFile) read() ([]byte, error) {
	f, err := disk.Open(w.disk, w.path)
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
		err = fmt.Errorf("%s has more than %d bytes: it is not a file of accounts", w.path, maxFile)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	w.close()
	w.file, w.info = f, info
	return data, nil
}

func (w *watchedFile) close() {
	if w.file != nil {
		w.file.Close()
	}
	w.file, w.info = nil, nil
}

// lock creates the file at path if it does not exist, waits for its exclusive lock, and returns the
// open file. Closing it releases the lock.
func (o Options) lock(path string) (disk.File, error) {
	f, err := o.Disk.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err = o.files().KeepOwner(f, filepath.Dir(path)); err == nil {
		err = f.Lock()
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// stepLocked is the test step after the lock is taken, before the steps of package durable.
const stepLocked durable.Step = "locked"

// reached calls the test hook, if there is one: tests stop the process there.
func (o Options) reached(step durable.Step) {
	if o.step != nil {
		o.step(step)
	}
}

// files writes files durably.
func (o Options) files() durable.Files { return durable.Files{Disk: o.Disk, Step: o.step} }

// replace replaces a file durably. The caller has the lock file, so no other process writes the
// temporary file.
func (o Options) replace(path string, data []byte) error {
	return o.files().ReplaceFile(path, data, 0o600)
}
