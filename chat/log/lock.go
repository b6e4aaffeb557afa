package log

import (
	"fmt"
	"os"

	"weir/internal/disk"
)

// lock is a file lock that one Log at a time has, in this process or another.
type lock struct{ f disk.File }

func (l *Log) openLock(name string) (lock, error) {
	f, err := l.disk.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	return lock{f}, err
}

func (k lock) take() error {
	if err := k.f.Lock(); err != nil {
		return fmt.Errorf("%w: %w", ErrFailing, err)
	}
	return nil
}

// release releases the lock. It cannot fail while the lock is taken.
func (k lock) release() { _ = k.f.Unlock() }
