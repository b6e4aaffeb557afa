package upload

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"weir/internal/durable"
)

// File is a file as an administrator sees it.
type File struct {
	Hash     string    `json:"hash"`
	Size     int64     `json:"size"` // bytes
	Sharings []Sharing `json:"sharings"`
	// when it was removed, and is not taken again since
	Removed *time.Time `json:"removed,omitempty"`
}

// List returns the files of a data directory, the last shared first, and at the end those that were
// removed. A server may be at work.
func List(dir string) ([]File, error) {
	var all []File
	err := scan(filepath.Join(dir, "uploads"), func(hash string, size int64, r record) {
		f := File{Hash: hash, Size: max(size, 0), Sharings: append([]Sharing{}, r.sharings...)}
		if !r.removed.IsZero() {
			f.Removed = &r.removed
		}
		if size >= 0 || f.Removed != nil {
			all = append(all, f)
		}
	})
	slices.SortFunc(all, func(a, b File) int {
		if removed := b2i(a.Removed != nil) - b2i(b.Removed != nil); removed != 0 {
			return removed
		}
		return b.last().Compare(a.last())
	})
	return all, err
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (f *File) last() time.Time { return record{sharings: f.Sharings}.last() }

// Remove removes a file of a data directory: its links lead nowhere from now on, and its content is
// not taken again. hash may be its first digits, eight or more, or a link to it. A server may be at
// work.
func Remove(dir, hash string, now time.Time) (File, error) {
	root := filepath.Join(dir, "uploads")
	f, err := find(dir, hash)
	if err != nil {
		return f, err
	}
	unlock, err := lockFolder(root)
	if err != nil {
		return f, err
	}
	defer unlock()
	r, err := readRecord(root, f.Hash)
	if err != nil {
		return f, err
	}
	r.removed = now
	if err := writeRecord(root, f.Hash, r); err != nil {
		return f, err
	}
	folder, path := place(root, f.Hash)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	return f, durable.SyncDir(folder)
}

// find is the one file that is meant.
func find(dir, hash string) (File, error) {
	if _, path, ok := strings.Cut(hash, "/file/"); ok {
		hash, _, _ = strings.Cut(path, "/")
	}
	if len(hash) < 8 {
		return File{}, fmt.Errorf("%q is too short: write eight digits of the hash or more, or a link", hash)
	}
	all, err := List(dir)
	if err != nil {
		return File{}, err
	}
	var found []File
	for _, f := range all {
		if strings.HasPrefix(f.Hash, strings.ToLower(hash)) {
			found = append(found, f)
		}
	}
	switch len(found) {
	case 0:
		return File{}, fmt.Errorf("%w: %s", ErrNone, hash)
	case 1:
		return found[0], nil
	}
	return File{}, fmt.Errorf("%q are the first digits of %d files: write more", hash, len(found))
}
