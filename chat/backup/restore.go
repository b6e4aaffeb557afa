package backup

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"weir/chat/data"
	"weir/chat/log"
	"weir/internal/durable"
)

// ErrDamaged is wrapped by the errors of a copy that differs from what Create wrote.
var ErrDamaged = errors.New("the copy is damaged")

const maxSums = 64 << 20 // size limit of SHA256SUMS, in bytes

// Verify reads a whole copy and compares its checksums.
func Verify(ctx context.Context, from string) (Result, error) { return verify(ctx, from, nil) }

// Restore creates a data directory from a copy, after it has compared all checksums. dir must not
// exist, or be an empty folder.
func Restore(ctx context.Context, from, dir string) (Result, error) {
	if left, err := os.ReadDir(dir); err == nil && len(left) > 0 {
		return Result{}, fmt.Errorf("%s is not empty: restore to a new directory, or move this one away", dir)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Result{}, err
	}
	dir = filepath.Clean(dir)
	temp, err := os.MkdirTemp(filepath.Dir(dir), "."+filepath.Base(dir)+".restore-*")
	if err != nil {
		return Result{}, err
	}
	out := &folder{root: temp}
	done, err := verify(ctx, from, out)
	err = errors.Join(err, out.close())
	if err == nil {
		err = inspect(temp, &done)
	}
	if err == nil {
		_ = os.Remove(dir) // removes an empty folder; otherwise the rename fails
		err = os.Rename(temp, dir)
	}
	if err != nil {
		return done, errors.Join(err, os.RemoveAll(temp))
	}
	return done, durable.SyncDir(filepath.Dir(dir))
}

// inspect reads every line of every room of a restored directory.
func inspect(dir string, done *Result) error {
	rooms, err := data.List(dir)
	if err != nil {
		return nil // a chat without any message
	}
	for _, room := range rooms {
		r, err := log.Inspect(filepath.Join(dir, room.Path))
		if err != nil {
			return err
		}
		if len(r.Faults) > 0 {
			return fmt.Errorf("%w: %s at %d: %s", ErrDamaged, room.Name, r.Faults[0].Offset, r.Faults[0].What)
		}
		done.Rooms++
		done.Messages += r.Lines
	}
	return nil
}

// verify reads a copy, compares all checksums, and also writes the files to out if that is not nil.
func verify(ctx context.Context, from string, out *folder) (Result, error) {
	var done Result
	found, want := map[string]string{}, map[string]string(nil)
	err := each(ctx, from, func(name string, mode fs.FileMode, r io.Reader) error {
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			return fmt.Errorf("%w: it contains a file named %q", ErrDamaged, name)
		}
		if name == Sums {
			text, err := io.ReadAll(io.LimitReader(r, maxSums))
			if err != nil {
				return err
			}
			want, err = parseSums(text)
			return err
		}
		sum := sha256.New()
		r = io.TeeReader(r, sum)
		var n int64
		var err error
		if out != nil {
			n, err = out.put(name, mode, 0, r)
		} else {
			n, err = io.Copy(io.Discard, r)
		}
		found[name] = hex.EncodeToString(sum.Sum(nil))
		done.Files++
		done.Bytes += n
		return err
	})
	if err != nil {
		return done, fmt.Errorf("%s: %w", from, err)
	}
	return done, compare(from, found, want)
}

// compare returns an error for the first difference between a copy and its checksums.
func compare(from string, found, want map[string]string) error {
	if want == nil {
		return fmt.Errorf("%s: %w: it has no file %s: is it a backup of a chat?", from, ErrDamaged, Sums)
	}
	for name, sum := range want {
		if found[name] == "" {
			return fmt.Errorf("%s: %w: %s is missing", from, ErrDamaged, name)
		}
		if found[name] != sum {
			return fmt.Errorf("%s: %w: the checksum of %s differs", from, ErrDamaged, name)
		}
	}
	for name := range found {
		if want[name] == "" {
			return fmt.Errorf("%s: %w: the file %s is not listed", from, ErrDamaged, name)
		}
	}
	return nil
}

// parseSums parses the output of sha256sum.
func parseSums(text []byte) (map[string]string, error) {
	sums := map[string]string{}
	for line := range bytes.Lines(text) {
		sum, name, ok := strings.Cut(strings.TrimSuffix(string(line), "\n"), "  ")
		if b, err := hex.DecodeString(sum); !ok || err != nil || len(b) != sha256.Size || sums[name] != "" {
			return nil, fmt.Errorf("%w: %s has the invalid line %q", ErrDamaged, Sums, line)
		}
		sums[name] = strings.ToLower(sum)
	}
	return sums, nil
}

// each calls do for every file of a copy.
func each(ctx context.Context, from string, do func(name string, mode fs.FileMode, r io.Reader) error) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return err
	} else if info.IsDir() {
		return eachIn(ctx, from, do)
	}
	var r io.Reader = f
	if isGzip(from) {
		if r, err = gzip.NewReader(f); err != nil {
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		}
	}
	for t := tar.NewReader(r); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			_, err = io.Copy(io.Discard, r) // the checksum of gzip is at the end
			return err
		}
		if err == nil && h.Typeflag == tar.TypeReg {
			err = do(h.Name, h.FileInfo().Mode().Perm(), t)
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
	}
}

func eachIn(ctx context.Context, root string, do func(name string, mode fs.FileMode, r io.Reader) error) error {
	return filepath.WalkDir(root, func(file string, e fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		name, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		return do(filepath.ToSlash(name), info.Mode().Perm(), f)
	})
}
