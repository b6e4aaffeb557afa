package auth

import (
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// lookAgain is how long what was read of a file holds before the file is looked at again.
	lookAgain = time.Second
	// settled is how old a file's time must be for two states of the file not to have the same one.
	settled = 2 * time.Second
	// maxFile is the largest file that is read, in bytes.
	maxFile = 16 << 20
)

// watched is what a file says, as it is now.
type watched[T any] struct {
	file   string
	parse  func([]byte) (T, error)
	broken func(error) // may be nil
	value  atomic.Pointer[T]
	since  time.Time    // what next counts from
	next   atomic.Int64 // nanoseconds, when the file is looked at again

	mu    sync.Mutex // held by the one that looks; guards what follows
	seen  os.FileInfo
	fresh bool // seen is so young that the file may have changed without it
}

// watch reads a file, and again when it has changed: so parse must not keep what it is given.
func watch[T any](file string, broken func(error), parse func([]byte) (T, error)) (*watched[T], error) {
	w := &watched[T]{file: file, parse: parse, broken: broken, since: time.Now()}
	if err := w.read(); err != nil {
		return nil, err
	}
	w.next.Store(int64(lookAgain))
	return w, nil
}

// get is what the file said when it was looked at last.
func (w *watched[T]) get() T {
	if now := time.Since(w.since); int64(now) >= w.next.Load() && w.mu.TryLock() {
		defer w.mu.Unlock()
		if int64(now) >= w.next.Load() {
			if err := w.read(); err != nil && w.broken != nil {
				w.broken(err)
			}
			w.next.Store(int64(time.Since(w.since) + lookAgain))
		}
	}
	return *w.value.Load()
}

// read reads the file unless it is as it was.
func (w *watched[T]) read() error {
	f, err := os.Open(w.file)
	if err != nil {
		return fmt.Errorf("auth: %w", err)
	}
	defer f.Close()
	now, err := f.Stat()
	if err != nil {
		return fmt.Errorf("auth: %w", err)
	}
	if s := w.seen; s != nil && !w.fresh && os.SameFile(s, now) && s.ModTime().Equal(now.ModTime()) && s.Size() == now.Size() {
		return nil
	}
	w.seen, w.fresh = now, time.Since(now.ModTime()) < settled
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return fmt.Errorf("auth: %w", err)
	}
	if len(text) > maxFile {
		return fmt.Errorf("auth: %s is larger than %d bytes: is it the right file?", w.file, maxFile)
	}
	v, err := w.parse(text)
	if err != nil {
		return fmt.Errorf("auth: %s: %w", w.file, err)
	}
	w.value.Store(&v)
	return nil
}
