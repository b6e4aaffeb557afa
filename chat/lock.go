package chat

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"weir/internal/disk"
)

// lockName is the name of the file that a service locks in its data directory. It holds the id of
// the process.
const lockName = "lock"

// lockFile is an open lock file: the lock lasts until it and its duplicates are closed.
type lockFile interface {
	io.WriterAt
	io.Closer
	Stat() (fs.FileInfo, error)
	Truncate(size int64) error
}

// lockData locks the data directory until the file is closed.
func lockData(d disk.FS, dir string) (lockFile, error) {
	f, err := d.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("chat: %w", err)
	}
	if err := f.TryLock(); err != nil {
		by := make([]byte, 16)
		n, _ := f.ReadAt(by, 0)
		f.Close()
		return nil, fmt.Errorf("chat: %s is in use by another server (process %s): stop it first, or choose another folder", dir, by[:max(0, n-1)])
	}
	return f, nil
}

// adoptLock writes the process id into the lock file. It fails if the lock is not that of this
// directory.
func adoptLock(d disk.FS, dir string, lock lockFile) error {
	ours, err := lock.Stat()
	if err != nil {
		return err
	}
	there, err := d.Stat(filepath.Join(dir, lockName))
	if err != nil || !d.SameFile(ours, there) {
		return fmt.Errorf("chat: %s is not the data directory that was handed over: to change it, stop and start the server", dir)
	}
	if err := lock.Truncate(0); err != nil {
		return err
	}
	_, err = lock.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}
