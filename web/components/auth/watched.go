package auth

import (
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"weir/web"
)

const (
	// checkInterval is the minimum time between two checks of a file.
	checkInterval = time.Second
	// timestampGranularity is the age from which a file's modification time is reliable: a younger
	// file may change again without a new time.
	timestampGranularity = 2 * time.Second
	// maxFile is the maximum size of a file in bytes.
	maxFile = 16 << 20
)

// watchedFile is the parsed content of a file, kept current.
type watchedFile[T any] struct {
	file       string
	parse      func([]byte) (T, error)
	onError    func(error) // may be nil
	value      atomic.Pointer[T]
	clockStart time.Time    // nextCheck counts from here
	nextCheck  atomic.Int64 // nanoseconds

	mu             sync.Mutex // Held during a check. Guards the fields below.
	lastInfo       os.FileInfo
	mayHaveChanged bool // lastInfo is so young that the file may have changed without a new time
}

// watchFile reads a file now, and again after changes. parse must not keep its argument.
func watchFile[T any](file string, broken func(error), parse func([]byte) (T, error)) (*watchedFile[T], error) {
	w := &watchedFile[T]{file: file, parse: parse, onError: broken, clockStart: time.Now()}
	if err := w.read(); err != nil {
		return nil, err
	}
	w.nextCheck.Store(int64(checkInterval))
	return w, nil
}

// get returns the content as of the last check.
func (w *watchedFile[T]) get() T { return *w.value.Load() }

// refresh checks the file, unless the last check was recent. An exchange that does so leaves its
// event loop.
func (w *watchedFile[T]) refresh(c *web.Conn) {
	if now := time.Since(w.clockStart); int64(now) >= w.nextCheck.Load() && w.mu.TryLock() {
		defer w.mu.Unlock()
		c.LeaveLoop()
		if int64(now) >= w.nextCheck.Load() {
			if err := w.read(); err != nil && w.onError != nil {
				w.onError(err)
			}
			w.nextCheck.Store(int64(time.Since(w.clockStart) + checkInterval))
		}
	}
}

// read reads the file if it has changed.
func (w *watchedFile[T]) read() error {
	f, err := os.Open(w.file)
	if err != nil {
		return fmt.Errorf("auth: %w", err)
	}
	defer f.Close()
	now, err := f.Stat()
	if err != nil {
		return fmt.Errorf("auth: %w", err)
	}
	if s := w.lastInfo; s != nil && !w.mayHaveChanged && os.SameFile(s, now) && s.ModTime().Equal(now.ModTime()) && s.Size() == now.Size() {
		return nil
	}
	w.lastInfo, w.mayHaveChanged = now, time.Since(now.ModTime()) < timestampGranularity
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
