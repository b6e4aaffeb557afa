package log

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	"weir/internal/disk"
)

// lineLength returns the length of the first line in b with its LF, 0 if there is no LF.
func lineLength(b []byte) int { return bytes.IndexByte(b, '\n') + 1 }

// firstBlock is the size of the first read backwards, in bytes. Further reads double it.
const firstBlock = 16 << 10

// Latest returns the newest n lines that end at or before an offset, oldest first. before is the
// offset of the oldest line that the caller knows, or Committed. The caller owns the lines.
func (l *Log) Latest(n int, before int64) ([]Line, error) {
	return l.latest(n, min(before, l.offsets.committed()))
}

// latest is Latest for any offset, committed or not. It reads no byte at or beyond the offset.
func (l *Log) latest(n int, before int64) ([]Line, error) {
	var found []Line // newest first
	bases := l.knownBases()
	for tries := 0; n > 0 && before > 0 && len(bases) > 0; {
		i := segmentIndex(bases, before-1)
		if bases[i] >= before {
			break
		}
		lines, err := l.latestIn(bases[i], before, n-len(found))
		if errors.Is(err, fs.ErrNotExist) && tries < 100 { // removed by Retain, like the older ones
			tries++
			if bases, err = l.relist(); err != nil {
				return nil, err
			}
			if bases[0] >= before {
				break
			}
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("chat/log: %w", err)
		}
		if found = append(found, lines...); len(found) == n {
			break
		}
		before = bases[i]
	}
	slices.Reverse(found)
	return found, nil
}

// latestIn returns up to n lines of one segment that end at or before an offset, newest first.
func (l *Log) latestIn(base, before int64, n int) (found []Line, err error) {
	f, err := disk.Open(l.disk, l.segmentPath(base))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.State()
	if err != nil {
		return nil, err
	}
	before = min(before, base+st.Size)
	for size := int64(firstBlock); before > base && len(found) < n; {
		from := max(base, before-size)
		b := make([]byte, before-from)
		if _, err := f.ReadAt(b, from-base); err != nil {
			return nil, err
		}
		start := 0
		if from > base {
			start = lineLength(b) // the block starts inside a line
		}
		found = appendBackwards(found, b[start:], from+int64(start), n)
		switch {
		case from == base || start > 0 && start < len(b):
			before = from + int64(start)
		case size < 2*MaxLine:
			size *= 2
		default: // no line is that long
			before = from
		}
	}
	return found, nil
}

// appendBackwards appends the valid lines of b, which starts at an offset, newest first, until
// there are n.
func appendBackwards(found []Line, b []byte, offset int64, n int) []Line {
	for end := len(b); end > 0 && len(found) < n; {
		start := bytes.LastIndexByte(b[:end-1], '\n') + 1
		if line, ok := parseLine(b[start:end:end]); ok && line.Offset() == offset+int64(start) {
			found = append(found, line)
		}
		end = start
	}
	return found
}

// After returns the first n lines at or behind an offset, in order. The caller owns the lines.
// Reading starts one byte earlier, because a line starts behind the LF of another: text that looks
// like a line is not one.
func (l *Log) After(offset int64, n int) ([]Line, error) {
	r := l.reader(offset-1, 0)
	defer r.Close()
	var ends []int
	var all []byte
	for len(ends) < n {
		line, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if line.Offset() < offset {
			continue
		}
		all = append(all, line...)
		ends = append(ends, len(all))
	}
	lines := make([]Line, len(ends))
	start := 0
	for i, end := range ends {
		lines[i], start = Line(all[start:end:end]), end
	}
	return lines, nil
}

// At returns the line at an offset, or ErrNotFound. The caller owns the line.
func (l *Log) At(offset int64) (Line, error) {
	if offset < 0 || offset >= l.offsets.committed() {
		return nil, ErrNotFound
	}
	lines, err := l.After(offset, 1)
	if err != nil {
		return nil, err
	}
	if len(lines) == 0 || lines[0].Offset() != offset {
		return nil, ErrNotFound
	}
	return lines[0], nil
}

// Seek returns the offset of the first line that is not earlier than a time, Committed if there is
// none.
func (l *Log) Seek(t time.Time) (int64, error) {
	bases, err := l.relist()
	if err != nil {
		return 0, err
	}
	from, to := int64(0), l.offsets.committed()
	// the result is in the last segment whose first line is earlier, or at its end
	for _, base := range bases {
		if base >= to {
			break
		}
		if line, err := l.firstFrom(base); err != nil {
			return 0, err
		} else if line == nil || !line.Time().Before(t) {
			break
		}
		from = base
	}
	// invariant: the line before from is earlier, the line at or behind to is not
	for to-from > streamBuffer {
		middle := from + (to-from)/2
		line, err := l.firstFrom(middle)
		if err != nil {
			return 0, err
		}
		if line == nil || !line.Time().Before(t) {
			to = middle
		} else {
			from = line.Offset()
		}
	}
	return l.seekFrom(from, t)
}

// firstFrom returns the first line that starts at or behind an offset, nil if there is none.
func (l *Log) firstFrom(offset int64) (Line, error) {
	lines, err := l.After(offset, 1)
	if err != nil || len(lines) == 0 {
		return nil, err
	}
	return lines[0], nil
}

// seekFrom reads from an offset until a line is not earlier than a time.
func (l *Log) seekFrom(from int64, t time.Time) (int64, error) {
	r := l.Stream(from)
	defer r.Close()
	for {
		line, err := r.Next()
		if errors.Is(err, io.EOF) {
			return max(from, l.offsets.committed()), nil
		}
		if err != nil {
			return 0, err
		}
		if !line.Time().Before(t) {
			return line.Offset(), nil
		}
	}
}

// timeBefore returns the time of the last line before an offset, in Unix milliseconds, 0 if there
// is none.
func (l *Log) timeBefore(offset int64) (int64, error) {
	lines, err := l.latest(1, offset)
	if err != nil || len(lines) == 0 {
		return 0, err
	}
	return lines[0].Time().UnixMilli(), nil
}
