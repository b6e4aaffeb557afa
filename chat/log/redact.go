package log

import (
	"errors"
	"fmt"
	"io"
	"os"

	"weir/internal/disk"
)

// Redact removes the text and the tags of the lines at the given offsets, which are ascending, from
// the room's files. A line keeps its length, time and msgid, so no other line moves. If an offset
// has no line, it returns ErrNotFound and changes nothing. A line may be redacted twice. A Reader
// with the segment open may still see the text. Writers of the room wait meanwhile. The lines of
// one segment are redacted together or not at all.
func (l *Log) Redact(offsets ...int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.writable(); err != nil {
		return err
	}
	return l.withLocks(func() error {
		if err := l.restoreLocked(); err != nil {
			return err
		}
		if err := l.commitAllLocked(); err != nil {
			return err
		}
		var without []Line
		for _, offset := range offsets {
			line, err := l.At(offset)
			if err != nil {
				return err
			}
			r, ok := redacted(line)
			if !ok {
				return fmt.Errorf("chat/log: %s: the line at %d is too short to be redacted in place", l.dir, offset)
			}
			without = append(without, r)
		}
		return l.overwriteLocked(without)
	})
}

// overwriteLocked replaces the lines at the offsets of the given ones, segment by segment. The
// caller holds both locks.
func (l *Log) overwriteLocked(lines []Line) error {
	bases := l.knownBases()
	for len(lines) > 0 {
		i, n := segmentIndex(bases, lines[0].Offset()), 1
		for n < len(lines) && segmentIndex(bases, lines[n].Offset()) == i {
			n++
		}
		if err := l.overwriteInLocked(bases, i, lines[:n]); err != nil {
			return err
		}
		lines = lines[n:]
	}
	return nil
}

// overwriteInLocked replaces lines of segment i by a changed copy, so that a crash leaves the old
// segment or the new one. The caller holds both locks.
func (l *Log) overwriteInLocked(bases []int64, i int, lines []Line) error {
	base, last := bases[i], i == len(bases)-1
	name := l.segmentPath(base)
	aside := name + ".tmp"
	mode := os.FileMode(finishedMode)
	if last {
		mode = writableMode
	}
	err := l.writeTemp(aside, func(f disk.File) error {
		if err := l.copyTo(f, name); err != nil {
			return err
		}
		for _, line := range lines {
			if _, err := f.WriteAt(line, line.Offset()-base); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = l.install(aside, name, mode)
	}
	if err != nil {
		return l.diskError("redact a line", err)
	}
	if last {
		return l.openActiveLocked()
	}
	return nil
}

// writeTemp writes a file durably under a temporary name, which no reader opens.
func (l *Log) writeTemp(aside string, fill func(disk.File) error) error {
	f, err := l.disk.OpenFile(aside, os.O_RDWR|os.O_CREATE|os.O_TRUNC, writableMode)
	if err != nil {
		return err
	}
	if err = fill(f); err == nil {
		err = f.Datasync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		_ = l.disk.Remove(aside)
	}
	return err
}

// install renames a temporary file to a segment. Processes that have the old file open see that it
// is finished.
func (l *Log) install(aside, name string, mode os.FileMode) error {
	if err := l.disk.Chmod(aside, mode); err != nil {
		return err
	}
	if err := l.disk.Chmod(name, finishedMode); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := l.disk.Rename(aside, name); err != nil {
		return err
	}
	return l.files().SyncDir(l.dir)
}

// copyTo copies the bytes of a segment.
func (l *Log) copyTo(to disk.File, name string) error {
	from, err := disk.Open(l.disk, name)
	if err != nil {
		return err
	}
	defer from.Close()
	st, err := from.State()
	if err != nil {
		return err
	}
	b := make([]byte, min(st.Size, 1<<20))
	for at := int64(0); at < st.Size; {
		n, err := from.ReadAt(b[:min(int64(len(b)), st.Size-at)], at)
		if n == 0 {
			return errors.Join(io.ErrUnexpectedEOF, err)
		}
		if _, err := to.WriteAt(b[:n], at); err != nil {
			return err
		}
		at += int64(n)
	}
	return nil
}
