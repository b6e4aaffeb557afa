package lab

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// journal is an append-only file with one JSON value per line. Each value is written as it is
// added, so an interrupted run loses at most the line that was being written. One goroutine owns
// it.
type journal[T any] struct{ file *os.File }

// openJournal opens or creates the file and returns its values. An incomplete last line was being
// written when the run was interrupted: it is truncated.
func openJournal[T any](name string) (*journal[T], []T, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o644)
	if err != nil {
		return nil, nil, err
	}
	values, size, err := readLines[T](f)
	if err == nil {
		err = f.Truncate(size)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return &journal[T]{f}, values, nil
}

// readLines decodes the complete lines and returns their total size in bytes.
func readLines[T any](f *os.File) (values []T, size int64, err error) {
	for r := bufio.NewReader(f); ; {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return values, size, nil
		}
		var v T
		if err := json.Unmarshal(line, &v); err != nil {
			return nil, 0, fmt.Errorf("%s is damaged after %d lines: %w", filepath.Base(f.Name()), len(values), err)
		}
		values = append(values, v)
		size += int64(len(line))
	}
}

// add appends v.
func (j *journal[T]) add(v T) error {
	b, err := json.Marshal(v)
	if err == nil {
		_, err = j.file.Write(append(b, '\n'))
	}
	if err != nil {
		return fmt.Errorf("lab: cannot write to %s: %w", j.file.Name(), err)
	}
	return nil
}

// close closes the file. It may be called more than once.
func (j *journal[T]) close() { j.file.Close() }
