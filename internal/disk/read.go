package disk

import (
	"io"
	"io/fs"
	"os"
)

// Open opens a file for reading.
func Open(d FS, name string) (File, error) { return d.OpenFile(name, os.O_RDONLY, 0) }

// ReadFile returns the contents of a file.
func ReadFile(d FS, name string) ([]byte, error) {
	f, err := Open(d, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.State()
	if err != nil {
		return nil, err
	}
	b := make([]byte, 0, st.Size+1) // one more, so that the end is found without growing
	for {
		n, err := f.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if err == io.EOF {
			return b, nil
		}
		if err != nil {
			return b, err
		}
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
	}
}

// WriteFile replaces the contents of a file, neither atomically nor durably: see os.WriteFile.
// Package durable does both.
func WriteFile(d FS, name string, data []byte, mode fs.FileMode) error {
	f, err := d.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}
