package log

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"

	"weir/internal/disk"
)

// streamBuffer is the read size of Stream, in bytes.
const streamBuffer = 256 << 10

// Reader reads lines in order. It is not safe for concurrent use.
type Reader struct {
	log         *Log
	uncommitted bool   // read to the end of the files, beyond COMMITTED: see the package's comment
	buf         []byte // buf[at:n] are the bytes at pos that are not parsed yet
	at, n       int
	pos         int64     // offset in the log of the next line
	segment     disk.File // the open segment; nil: none
	base        int64     // offset in the log of the first byte of segment
	nextBase    int64     // base of the segment after it; math.MaxInt64: none is known
	reopened    bool      // the segment was reopened at its end
	badBytes    int64
	onBad       func(offset int64, b []byte) // called with invalid bytes; may be nil
}

// Stream returns a Reader that starts at an offset, or at the first line behind it. Each call of
// Next sees the lines committed until then, so Next may be called again after io.EOF. The caller
// closes the Reader.
func (l *Log) Stream(from int64) *Reader { return l.reader(from, streamBuffer) }

func (l *Log) reader(from int64, buffer int) *Reader {
	return &Reader{log: l, pos: max(0, from), buf: make([]byte, max(buffer, 2*MaxLine))}
}

// Close closes the open segment.
func (r *Reader) Close() error {
	if r.segment == nil {
		return nil
	}
	err := r.segment.Close()
	r.segment = nil
	return err
}

// Bad returns how many bytes were skipped because they belong to no valid line, also before the
// first line.
func (r *Reader) Bad() int64 { return r.badBytes }

// Next returns the next line, or io.EOF at the end of the committed lines. The line is valid until
// the next call.
func (r *Reader) Next() (Line, error) {
	for {
		rest := r.buf[r.at:r.n]
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			if len(rest) > MaxLine { // no line is that long: the bytes are invalid
				r.skip(len(rest))
			}
			if err := r.fill(); err != nil {
				return nil, err
			}
			continue
		}
		// a line carries its own offset, so a copy of a line at another place is invalid
		if line, ok := parseLine(rest[:i+1]); ok && line.Offset() == r.pos {
			r.at += i + 1
			r.pos += int64(i + 1)
			return line, nil
		}
		r.skip(i + 1)
	}
}

// skip skips invalid bytes.
func (r *Reader) skip(n int) {
	if r.onBad != nil && n > 0 {
		r.onBad(r.pos, r.buf[r.at:r.at+n])
	}
	r.at += n
	r.pos += int64(n)
	r.badBytes += int64(n)
}

// limit returns the offset up to which bytes may be read: COMMITTED, unless r reads uncommitted
// bytes, too.
func (r *Reader) limit() int64 {
	if r.uncommitted {
		return math.MaxInt64
	}
	return r.log.offsets.committed()
}

// fill reads more bytes. It returns io.EOF if there are none yet.
func (r *Reader) fill() error {
	copy(r.buf, r.buf[r.at:r.n])
	r.n, r.at = r.n-r.at, 0
	for {
		from, limit := r.pos+int64(r.n), r.limit()
		if from >= limit {
			return io.EOF
		}
		if r.segment == nil || from >= r.nextBase {
			if err := r.open(from); err != nil {
				return err
			}
			if from = r.pos + int64(r.n); from >= limit {
				return io.EOF
			}
		}
		room := min(int64(len(r.buf)-r.n), limit-from, r.nextBase-from)
		n, err := r.segment.ReadAt(r.buf[r.n:r.n+int(room)], from-r.base)
		r.n += n
		switch {
		case n > 0:
			r.reopened = false
			return nil
		case err == nil || !errors.Is(err, io.EOF):
			return fmt.Errorf("chat/log: read %s: %w", r.log.segmentPath(r.base), err)
		}
		if done, err := r.nextSegment(from); done || err != nil {
			return err
		}
	}
}

// nextSegment continues when the open segment has no byte at from. It first reopens the segment,
// because Redact or Repair may have replaced its file by another one, to which further lines are
// appended, and then takes the next one. done is true after the last segment, or with an error.
func (r *Reader) nextSegment(from int64) (done bool, err error) {
	bases, err := r.log.relist()
	if err != nil {
		return true, err
	}
	if !r.reopened {
		r.reopened = true
		return false, r.Close()
	}
	r.reopened = false
	i := segmentIndex(bases, from)
	// the reopened segment ends here: take the next one, across a gap
	if len(bases) > 0 && bases[i] <= from {
		i++
	}
	if i >= len(bases) {
		return true, io.EOF
	}
	r.jump(bases[i])
	return false, nil
}

// jump continues at an offset in another segment. An incomplete line is invalid.
func (r *Reader) jump(to int64) {
	r.skip(r.n - r.at)
	r.at, r.n, r.pos = 0, 0, to
	_ = r.Close()
}

// open opens the segment that has the byte at from.
func (r *Reader) open(from int64) error {
	bases := r.log.knownBases()
	for range 100 { // each time, the segment that was to be opened had been removed meanwhile
		if len(bases) == 0 {
			return io.EOF
		}
		i := segmentIndex(bases, from)
		f, err := disk.Open(r.log.disk, r.log.segmentPath(bases[i]))
		if err == nil {
			if r.segment != nil || bases[i] > from {
				r.jump(max(from, bases[i]))
			}
			r.segment, r.base, r.nextBase = f, bases[i], math.MaxInt64
			if i+1 < len(bases) {
				r.nextBase = bases[i+1]
			}
			return nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("chat/log: %w", err)
		}
		before, missing := bases, err
		if bases, err = r.log.relist(); err != nil {
			return err
		}
		if slices.Equal(before, bases) {
			// not wrapped: the error is no fs.ErrNotExist, which callers take for a removed room
			return fmt.Errorf("chat/log: the folder lists a segment that cannot be opened: %v", missing)
		}
	}
	return fmt.Errorf("chat/log: %s: its segments are removed faster than they can be read", r.log.dir)
}
