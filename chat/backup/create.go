package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"weir/internal/durable"
)

// Sums is the name of the file with the checksums of all others.
const Sums = "SHA256SUMS"

// Result counts what a copy contains.
type Result struct {
	Rooms    int   `json:"rooms"` // including conversations
	Messages int64 `json:"messages"`
	Files    int   `json:"files"`
	Bytes    int64 `json:"bytes"`
	Bad      int64 `json:"bad"` // bytes of logs that belong to no valid message and were left out
}

// Create copies a data directory to a folder, or to a tar file if the name ends in .tar, .tar.gz or
// .tgz. The name must not exist. Servers may use the directory meanwhile.
func Create(ctx context.Context, dir, to string) (Result, error) {
	if err := checkTarget(dir, to); err != nil {
		return Result{}, err
	}
	out, err := newSink(to)
	if err != nil {
		return Result{}, err
	}
	c := &copier{ctx: ctx, dir: dir, out: out}
	err = c.copyAll()
	if err == nil {
		err = c.put(Sums, 0o600, c.sums.Bytes())
	}
	if err = errors.Join(err, out.close()); err == nil {
		_, err = verify(ctx, out.name(), nil)
	}
	if err == nil {
		err = os.Rename(out.name(), to)
	}
	if err != nil {
		return c.counts, errors.Join(err, os.RemoveAll(out.name()))
	}
	return c.counts, durable.SyncDir(filepath.Dir(to))
}

// checkTarget returns an error if the copy cannot be made: its name exists, or is inside the data
// directory.
func checkTarget(dir, to string) error {
	if info, err := os.Stat(dir); err != nil {
		return err
	} else if !info.IsDir() {
		return fmt.Errorf("%s is not a folder: name the data directory of a chat", dir)
	}
	if _, err := os.Lstat(to); err == nil {
		return fmt.Errorf("%s exists: choose a new name for the copy", to)
	}
	from, err1 := filepath.Abs(dir)
	target, err2 := filepath.Abs(to)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	if rel, err := filepath.Rel(from, target); err == nil && filepath.IsLocal(rel) {
		return fmt.Errorf("%s is inside the data directory %s: choose another place for the copy", to, dir)
	}
	return nil
}

// copier is a running copy.
type copier struct {
	ctx    context.Context
	dir    string
	out    sink
	sums   bytes.Buffer
	counts Result
}

// order is the order in which the parts of a data directory are copied. Other parts are 0.
var order = map[string]int{"marks": -2, "invites": -1, "rooms": 1, "direct": 2, "uploads": 3}

func (c *copier) copyAll() error {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return err
	}
	slices.SortStableFunc(entries, func(a, b fs.DirEntry) int { return order[a.Name()] - order[b.Name()] })
	logs := false
	for _, e := range entries {
		name := e.Name()
		switch {
		case isExcluded(name) || name == "index" && e.IsDir():
		case (name == "rooms" || name == "direct") && e.IsDir():
			logs = true
			err = c.copyRooms(name)
		default:
			err = c.copyTree(name, e)
		}
		if err != nil {
			return err
		}
	}
	if !logs && c.counts.Files == 0 {
		return fmt.Errorf("%s contains no chat: name the data directory of a chat", c.dir)
	}
	return nil
}

// isExcluded reports whether a file is not copied.
func isExcluded(name string) bool {
	return strings.HasPrefix(name, ".") || name == "lock" || name == Sums ||
		slices.Contains([]string{".lock", ".tmp", ".damaged"}, path.Ext(name))
}

// copyTree copies a file, or a folder with its content.
func (c *copier) copyTree(name string, e fs.DirEntry) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	if e.Type().IsRegular() {
		return c.copyFile(name)
	}
	if !e.IsDir() {
		return nil
	}
	entries, err := os.ReadDir(filepath.Join(c.dir, name))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if isExcluded(e.Name()) {
			continue
		}
		if err := c.copyTree(path.Join(name, e.Name()), e); err != nil {
			return err
		}
	}
	return nil
}

// copyFile copies a file that is only replaced as a whole, never written in place. A file that was
// removed meanwhile is skipped.
func (c *copier) copyFile(name string) error {
	f, err := os.Open(filepath.Join(c.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return c.stream(name, info.Mode().Perm(), info.Size(), f)
}

func (c *copier) put(name string, mode fs.FileMode, content []byte) error {
	return c.stream(name, mode, int64(len(content)), bytes.NewReader(content))
}

// stream writes a file of a known size, and records its checksum.
func (c *copier) stream(name string, mode fs.FileMode, size int64, r io.Reader) error {
	if strings.ContainsAny(name, "\n\r\\") {
		return fmt.Errorf("the name %q cannot be listed in %s", name, Sums)
	}
	sum := sha256.New()
	n, err := c.out.put(name, mode, size, io.TeeReader(io.LimitReader(r, size), sum))
	if err == nil && n != size {
		err = fmt.Errorf("the file shrank while it was copied: try again")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if name != Sums {
		c.sums.WriteString(hex.EncodeToString(sum.Sum(nil)) + "  " + name + "\n")
	}
	c.counts.Files++
	c.counts.Bytes += size
	return nil
}
