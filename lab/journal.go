package lab

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// journal is an append-only file with one JSON value per line. Each value is written as it is
// added, so an interrupted run loses at most the line that was being written. One goroutine owns
// it. The file is locked while it is open, because the lines of two runs would mix.
type journal[T any] struct{ file *os.File }

// openJournal opens or creates the file and returns its values. An incomplete last line was being
// written when the run was interrupted: it is truncated.
func openJournal[T any](name string) (*journal[T], []T, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o644)
	if err != nil {
		return nil, nil, err
	}
	values, err := restore[T](f)
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return &journal[T]{f}, values, nil
}

// errInUse is the error of a file that another process has locked.
var errInUse = errors.New("another weir uses it now: wait until that has ended")

// restore locks the file, returns its values and truncates an incomplete last line.
func restore[T any](f *os.File) ([]T, error) {
	name := filepath.Base(f.Name())
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, fmt.Errorf("%s: %w", name, errInUse)
	} else if err != nil {
		return nil, fmt.Errorf("%s: cannot lock it: %w", name, err)
	}
	if !isNamed(f) {
		return nil, fmt.Errorf("%s: %w", name, errInUse)
	}
	values, size, err := readLines[T](f)
	if err != nil {
		return nil, fmt.Errorf("%s %w", name, err)
	}
	return values, f.Truncate(size)
}

// isNamed reports whether f is still the file of its name. The process that had locked it may have
// removed it since it was opened.
func isNamed(f *os.File) bool {
	opened, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(f.Name())
	return err == nil && os.SameFile(opened, named)
}

// readLines decodes the complete lines and returns their total size in bytes.
func readLines[T any](from io.Reader) (values []T, size int64, err error) {
	for r := bufio.NewReader(from); ; {
		line, err := r.ReadBytes('\n')
		switch {
		case errors.Is(err, io.EOF):
			return values, size, nil
		case err != nil: // what follows may be whole, so it must not be truncated
			return nil, 0, fmt.Errorf("cannot be read after %d lines: %w", len(values), err)
		}
		var v T
		if err := json.Unmarshal(line, &v); err != nil {
			return nil, 0, fmt.Errorf("is damaged after %d lines: %w: remove the rest of it to continue with those", len(values), err)
		}
		values = append(values, v)
		size += int64(len(line))
	}
}

// add appends v.
func (j *journal[T]) add(v T) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("lab: cannot encode a line of %s: %w", filepath.Base(j.file.Name()), err)
	}
	if _, err := j.file.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("lab: cannot write to %s: %w: make room, and continue the run with --resume", j.file.Name(), err)
	}
	return nil
}

// close closes the file. It may be called more than once.
func (j *journal[T]) close() { j.file.Close() }
