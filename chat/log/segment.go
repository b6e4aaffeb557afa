package log

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"weir/internal/disk"
)

const (
	writableMode = 0o600
	finishedMode = 0o400 // of a segment with a successor
	cuttingMode  = 0o700 // of a finished segment that recovery is writing to
)

// segmentName returns the file name of the segment that starts at an offset.
func segmentName(base int64) string { return fmt.Sprintf("%020d.log", base) }

func (l *Log) segmentPath(base int64) string { return filepath.Join(l.dir, segmentName(base)) }

// listSegments returns the bases of a folder's segments, ascending, and the other names in it.
func listSegments(d disk.FS, dir string) (bases []int64, others []string, err error) {
	entries, err := d.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		name := e.Name()
		digits, found := strings.CutSuffix(name, ".log")
		base, err := strconv.ParseInt(digits, 10, 64)
		if !found || err != nil || base < 0 || base >= maxOffset || segmentName(base) != name {
			others = append(others, name)
			continue
		}
		bases = append(bases, base)
	}
	slices.Sort(bases)
	return bases, others, nil
}

// relist lists the folder again. Readers call it when a segment is missing or has ended. A listing
// that another call has overtaken is discarded: it may lack the last segment, and a writer that
// follows it would go back to the one before.
func (l *Log) relist() ([]int64, error) {
	for {
		before := l.bases.Load()
		bases, _, err := listSegments(l.disk, l.dir)
		if err != nil {
			return nil, fmt.Errorf("chat/log: %w", err)
		}
		if l.bases.CompareAndSwap(before, &bases) {
			return bases, nil
		}
	}
}

// withSegments calls do with the segments of the folder, and again if Retain has removed one
// meanwhile. An fs.ErrNotExist that it returns says that the folder has no segments.
func (l *Log) withSegments(do func(bases []int64) error) error {
	var missing error
	for range 100 {
		bases, err := l.relist()
		if err != nil {
			return err
		}
		if err = do(bases); len(bases) == 0 || !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		missing = err
	}
	// not wrapped: this is no folder without segments
	return fmt.Errorf("chat/log: %s: its segments are removed faster than they can be read: %v", l.dir, missing)
}

func (l *Log) knownBases() []int64 { return *l.bases.Load() }

// segmentIndex returns the index of the segment with an offset: the last one that starts at or
// before it, or 0.
func segmentIndex(bases []int64, offset int64) int {
	i, found := slices.BinarySearch(bases, offset)
	if !found {
		i = max(0, i-1)
	}
	return i
}

// create creates an empty segment with a durable name.
func (l *Log) create(base int64) error {
	f, err := l.disk.OpenFile(l.segmentPath(base), os.O_RDWR|os.O_CREATE|os.O_EXCL, writableMode)
	if err != nil {
		return l.diskError("create a segment", err)
	}
	f.Close()
	if err := l.files().SyncDir(l.dir); err != nil {
		_ = l.disk.Remove(l.segmentPath(base)) // its name is not durable
		return l.diskError("create a segment", err)
	}
	return nil
}

// finish marks a segment as one that is no longer written to.
func (l *Log) finish(base int64) error {
	if err := l.disk.Chmod(l.segmentPath(base), finishedMode); err != nil {
		return l.diskError("finish a segment", err)
	}
	return nil
}

// inUse reports whether an open segment is still written to: it has a name, and its mode permits
// writing and not executing. Otherwise it was replaced, removed or finished.
func inUse(st disk.State) bool { return st.Mode&0o300 == 0o200 && st.Links > 0 }

// extent is the range of a segment, from its base to its end.
type extent struct{ base, end int64 }

// extents returns the ranges of segments. A segment ends where the next one starts, even if its
// file is longer. The last one ends where its padding starts.
func (l *Log) extents(bases []int64) ([]extent, error) {
	all := make([]extent, len(bases))
	for i, base := range bases {
		st, err := l.disk.Stat(l.segmentPath(base))
		if err != nil {
			return nil, fmt.Errorf("chat/log: %w", err)
		}
		all[i] = extent{base, base + st.Size()}
		if i > 0 {
			all[i-1].end = min(all[i-1].end, base)
		}
	}
	if n := len(all); n > 0 {
		last := &all[n-1]
		size, err := dataSize(l.disk, l.segmentPath(last.base))
		if err != nil {
			return nil, fmt.Errorf("chat/log: %w", err)
		}
		last.end = last.base + size
	}
	return all, nil
}

// truncateAt removes all bytes at and behind an offset, and segments that are empty then.
func (l *Log) truncateAt(offset int64, bases []int64) error {
	for i, base := range bases {
		st, err := l.disk.Stat(l.segmentPath(base))
		if err != nil {
			return l.diskError("cut a segment", err)
		}
		size := max(0, offset-base)
		// an overlap with the successor is not a tail
		behind := i+1 < len(bases) && bases[i+1] <= offset
		if !behind {
			cut := func(int64) error { return l.truncate(base, size) }
			if st.Size() <= size { // perhaps by a call that could not sync it
				cut = l.syncSegment
			}
			if err := cut(base); err != nil {
				return l.diskError("cut a segment", err)
			}
		}
		// truncated before removal, because a writer that waits for a sync looks at its size
		if base >= offset && (i+1 < len(bases) || st.Size() > 0) {
			if err := l.disk.Remove(l.segmentPath(base)); err != nil {
				return l.diskError("remove an empty segment", err)
			}
		}
	}
	return nil
}

// truncate truncates a segment durably, and leaves it finished if it was.
func (l *Log) truncate(base, size int64) error {
	name := l.segmentPath(base)
	return l.withWritable(name, func(f disk.File) error {
		if err := f.Truncate(size); err != nil {
			return err
		}
		return f.Datasync()
	})
}

// withWritable opens a segment for writing, finished or not, and calls do.
func (l *Log) withWritable(name string, do func(disk.File) error) error {
	info, err := l.disk.Stat(name)
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o200 == 0 {
		if err := l.disk.Chmod(name, cuttingMode); err != nil {
			return err
		}
		defer func() { _ = l.disk.Chmod(name, finishedMode) }()
	}
	f, err := l.disk.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return do(f)
}
