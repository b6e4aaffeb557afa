package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"weir/internal/durable"
)

// writeOutput writes a file that a flag names. A regular file is replaced as a whole, through links
// too. Anything else, such as /dev/stdout or a pipe, is written to, and stays what it is.
func writeOutput(path string, text []byte) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return fmt.Errorf("cannot write %s: it is a folder: name a file in it", path)
	case err == nil && !info.Mode().IsRegular():
		return os.WriteFile(path, text, 0)
	case err == nil:
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return err
		}
	}
	return durable.ReplaceFile(path, text, 0o644)
}

// checkOutputs returns the error of the first path that writeOutput could not write: its folder is
// missing, or it is a folder itself. Commands that work for minutes call it first. Empty paths are
// ignored.
func checkOutputs(paths ...string) error {
	for _, path := range paths {
		if path == "" {
			continue
		}
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return fmt.Errorf("cannot write %s: it is a folder: name a file in it", path)
		}
		info, err := os.Stat(filepath.Dir(path))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("cannot write %s: there is no folder %s: make it first", path, filepath.Dir(path))
		case err != nil:
			return fmt.Errorf("cannot write %s: %w", path, err)
		case !info.IsDir():
			return fmt.Errorf("cannot write %s: %s is no folder", path, filepath.Dir(path))
		}
	}
	return nil
}
