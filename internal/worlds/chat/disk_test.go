package chat_test

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"weir/internal/disk"
)

// commitDelay is how long a commit takes after its sync: 1 to 16 ms. The sync itself takes no time,
// because goroutines wait for it by a lock, and a wait for a lock stops the virtual time.
type commitDelay struct{ commits atomic.Int64 }

func (d *commitDelay) onCommit(time.Duration, error) {
	time.Sleep(time.Duration(1+d.commits.Add(1)*7%16) * time.Millisecond)
}

// copyFiles copies a folder of a disk to one of the operating system.
func copyFiles(from disk.FS, dir, to string) error {
	entries, err := from.ReadDir(dir)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	for _, e := range entries {
		path, copied := filepath.Join(dir, e.Name()), filepath.Join(to, e.Name())
		if e.IsDir() {
			err = copyFiles(from, path, copied)
		} else if contents, readErr := disk.ReadFile(from, path); readErr == nil {
			err = os.WriteFile(copied, contents, 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
