package log

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
)

// streamBuffer is what Stream reads at once.
const streamBuffer = 256 << 10

// Reader reads lines in their order. One goroutine at a time may use it.
type Reader struct {
	l     *Log
	all   bool   // to the end of the files, whatever COMMITTED says
	buf   []byte // buf[at:n] are the bytes at pos that were not looked at yet
	at, n int
	pos   int64
	f     File
	base  int64 // of f
	next  int64 // where f's successor begins, as far as is known
	again bool  // f was opened again where it ended
	bad   int64
	lost  func(offset int64, b []byte) // told of bad bytes; may be nil
}

// Stream returns a Reader that begins at an offset, or with the first line behind it. Its Next
// finds what is committed when it is called, so it can be called again after io.EOF. The caller
// closes it.
func (l *Log) Stream(from int64) *Reader { return l.reader(from, streamBuffer) }

func (l *Log) reader(from int64, buffer int) *Reader {
	return &Reader{l: l, pos: max(0, from), buf: make([]byte, max(buffer, 2*MaxLine))}
}

// Close gives back the open segment.
func (r *Reader) Close() error {
	if r.f == nil {
		return nil
	}
	err := r.f.Close()
	r.f = nil
	return err
}

// Bad is how many bytes were skipped because they belong to no whole line, what comes before the
// first line included.
func (r *Reader) Bad() int64 { return r.bad }

// Next returns the next line, which is dead when Next is called again, or io.EOF at the end of what
// is committed.
func (r *Reader) Next() (Line, error) {
	for {
		rest := r.buf[r.at:r.n]
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			if len(rest) > MaxLine { // no line is as long: what there is of it is bad
				r.skip(len(rest))
			}
			if err := r.fill(); err != nil {
				return nil, err
			}
			continue
		}
		offset := r.pos
		if line, ok := check(rest[:i+1]); ok && line.Offset() == offset {
			r.at += i + 1
			r.pos += int64(i + 1)
			return line, nil
		}
		r.skip(i + 1)
	}
}

// skip passes over bad bytes.
func (r *Reader) skip(n int) {
	if r.lost != nil && n > 0 {
		r.lost(r.pos, r.buf[r.at:r.at+n])
	}
	r.at += n
	r.pos += int64(n)
	r.bad += int64(n)
}

// limit is how far may be read.
func (r *Reader) limit() int64 {
	if r.all {
		return math.MaxInt64
	}
	return r.l.words.committed()
}

// fill reads more bytes behind those there are. io.EOF: there are none to be read.
func (r *Reader) fill() error {
	copy(r.buf, r.buf[r.at:r.n])
	r.n, r.at = r.n-r.at, 0
	for {
		from, limit := r.pos+int64(r.n), r.limit()
		if from >= limit {
			return io.EOF
		}
		if r.f == nil || from >= r.next {
			if err := r.open(from); err != nil {
				return err
			}
			if from = r.pos + int64(r.n); from >= limit {
				return io.EOF
			}
		}
		room := min(int64(len(r.buf)-r.n), limit-from, r.next-from)
		n, err := r.f.ReadAt(r.buf[r.n:r.n+int(room)], from-r.base)
		r.n += n
		switch {
		case n > 0:
			r.again = false
			return nil
		case err == nil || !errors.Is(err, io.EOF):
			return fmt.Errorf("chat/log: %s can't be read: %w", r.l.segmentPath(r.base), err)
		}
		if done, err := r.ended(from); done || err != nil {
			return err
		}
	}
}

// ended goes on when the open segment has no byte at from: somebody may have put another file in
// its place, and if not, the folder says what comes then. done: nothing.
func (r *Reader) ended(from int64) (done bool, err error) {
	bases, err := r.l.relist()
	if err != nil {
		return true, err
	}
	if !r.again {
		r.again = true
		return false, r.Close()
	}
	r.again = false
	i := holding(bases, from)
	if len(bases) > 0 && bases[i] <= from { // it was opened again: the next one, across a gap
		i++
	}
	if i >= len(bases) {
		return true, io.EOF
	}
	r.jump(bases[i])
	return false, nil
}

// jump goes on at an offset in another segment. What was begun and has no end is bad.
func (r *Reader) jump(to int64) {
	r.skip(r.n - r.at)
	r.at, r.n, r.pos = 0, 0, to
	_ = r.Close()
}

// open finds and opens the segment that has the byte at from.
func (r *Reader) open(from int64) error {
	bases := r.l.known()
	for range 100 { // segments are removed now and then, not all the time
		if len(bases) == 0 {
			return io.EOF
		}
		i := holding(bases, from)
		f, err := r.l.fs.Open(r.l.segmentPath(bases[i]), os.O_RDONLY, 0)
		if err == nil {
			if r.f != nil || bases[i] > from {
				r.jump(max(from, bases[i]))
			}
			r.f, r.base, r.next = f, bases[i], math.MaxInt64
			if i+1 < len(bases) {
				r.next = bases[i+1]
			}
			return nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("chat/log: %w", err)
		}
		before := bases
		if bases, err = r.l.relist(); err != nil {
			return err
		}
		if slices.Equal(before, bases) {
			break
		}
	}
	return fmt.Errorf("chat/log: %s: its segments go away faster than they can be read", r.l.dir)
}
