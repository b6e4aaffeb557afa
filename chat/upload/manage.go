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

// File describes a stored or removed file for administrators.
type File struct {
	Hash     string    `json:"hash"`     // SHA-256 of the content, in hex
	Size     int64     `json:"size"`     // bytes; 0 if removed
	Sharings []Sharing `json:"sharings"` // uploads of this content, the oldest first
	// When an administrator removed the file; its content is refused since then. Nil if not
	// removed.
	Removed *time.Time `json:"removed,omitempty"`
}

// List returns the files of a data directory, the most recently uploaded first and removed ones
// last. A server may be running.
func List(dir string) ([]File, error) {
	var all []File
	// size is -1 if there is a record without content: the file was removed, or a crash interrupted
	// its upload or its expiry
	err := scanFiles(filepath.Join(dir, "uploads"), func(hash string, size int64, r record) {
		f := File{Hash: hash, Size: max(size, 0), Sharings: append([]Sharing{}, r.sharings...)}
		if !r.removedAt.IsZero() {
			f.Removed = &r.removedAt
		}
		if size >= 0 || f.Removed != nil {
			all = append(all, f)
		}
	})
	slices.SortFunc(all, func(a, b File) int {
		if removed := b2i(a.Removed != nil) - b2i(b.Removed != nil); removed != 0 {
			return removed
		}
		return b.lastUpload().Compare(a.lastUpload())
	})
	return all, err
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (f *File) lastUpload() time.Time { return record{sharings: f.Sharings}.lastUpload() }

// Remove removes a file of a data directory: its links stop working and its content is refused from
// then on. hash is the hash, its first eight digits or more, or a link. It returns the file as it
// was before. A file that was removed before is removed again, with the new time. A server may be
// running.
func Remove(dir, hash string, now time.Time) (File, error) {
	root := filepath.Join(dir, "uploads")
	f, err := findByPrefix(dir, hash)
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
	r.removedAt = now
	if err := writeRecord(root, f.Hash, r); err != nil {
		return f, err
	}
	folder, path := contentPath(root, f.Hash)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	return f, durable.SyncDir(folder)
}

// findByPrefix returns the one file that a hash, a prefix of a hash or a link names.
func findByPrefix(dir, hash string) (File, error) {
	if _, path, ok := strings.Cut(hash, "/file/"); ok {
		hash, _, _ = strings.Cut(path, "/")
	}
	if len(hash) < 8 {
		return File{}, fmt.Errorf("%q is too short: give at least eight digits of the hash, or a link", hash)
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
		return File{}, fmt.Errorf("%w: %s", ErrNotFound, hash)
	case 1:
		return found[0], nil
	}
	return File{}, fmt.Errorf("%q is a prefix of %d files: give more digits", hash, len(found))
}
