package log

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
)

// lastUsed is the base of the last segment that has bytes, or of the first.
func lastUsed(all []extent) int64 {
	for i := len(all) - 1; i > 0; i-- {
		if all[i].end > all[i].base {
			return all[i].base
		}
	}
	if len(all) == 0 {
		return 0
	}
	return all[0].base
}

// scan reads from an offset to the end of the files. end is that of the last whole line, from if
// there is none; last is its time in Unix milliseconds. Bad bytes before it go to found.
func (l *Log) scan(from int64, found *Recovery) (end, last int64, err error) {
	r := l.reader(from, streamBuffer)
	r.all = true
	r.lost = func(_ int64, b []byte) {
		if _, ok := check(b); ok {
			found.moved = true
		}
	}
	defer r.Close()
	end = from
	for {
		line, err := r.Next()
		if errors.Is(err, io.EOF) {
			return end, last, nil
		}
		if err != nil {
			return end, last, err
		}
		end, last, found.Bad = r.pos, line.Time().UnixMilli(), r.bad
	}
}

// recover brings the room in order, both locks held: what is whole is kept, what is torn is cut,
// COMMITTED and END are the end, and the last segment is open. If it fails, COMMITTED is as before.
func (l *Log) recover() error {
	bases, err := l.tidy()
	if err != nil {
		return err
	}
	all, err := l.extents(bases)
	if err != nil {
		return err
	}
	var found Recovery
	committed, end := l.words.committed(), l.words.end()
	physical := all[len(all)-1].end
	from, err := l.scanFrom(all, committed)
	if err != nil {
		return err
	}
	if committed > physical {
		found.Lost = committed - physical
	}
	whole, _, err := l.scan(from, &found)
	if err != nil {
		return l.failing("read what is there", err)
	}
	if err := l.settle(bases, from, whole); err != nil {
		return err
	}
	if from == committed && !l.fresh {
		found.Kept = sizeBetween(all, committed, whole)
	}
	found.Cut, found.At = sizeBetween(all, whole, math.MaxInt64), whole
	next := max(physical, end, committed)
	if found.Cut > 0 && found.moved {
		if _, err = l.keepDamaged(l.segmentPath(lastUsed(all))); err != nil {
			return l.failing("keep what is cut", err)
		}
	}
	if found.Cut > 0 || next > physical {
		err = l.begin(all, next, whole)
	} else if err = l.successor(all); err == nil {
		next = physical
	}
	if err != nil {
		return err
	}
	if err := l.adopt(); err != nil {
		return err
	}
	found.Next = l.base + l.size()
	l.recovery = found
	return nil
}

// tidy removes what was left half made, makes the first segment if there is none, and marks as
// finished what is.
func (l *Log) tidy() ([]int64, error) {
	bases, others, err := listSegments(l.dir)
	if err != nil {
		return nil, fmt.Errorf("chat/log: %w", err)
	}
	for _, name := range others {
		// those are durable's, of files that are none of the log's
		if strings.HasSuffix(name, ".tmp") && !strings.HasPrefix(name, ".") {
			if err := l.fs.Remove(filepath.Join(l.dir, name)); err != nil {
				return nil, l.failing("remove "+name, err)
			}
		}
	}
	if len(bases) == 0 {
		if err := l.create(max(l.words.committed(), l.words.end())); err != nil {
			return nil, err
		}
	}
	if bases, err = l.relist(); err != nil {
		return nil, err
	}
	for _, base := range bases[:len(bases)-1] {
		if info, err := os.Stat(l.segmentPath(base)); err == nil && info.Mode().Perm() != finishedMode {
			if err := l.finish(base); err != nil {
				return nil, err
			}
		}
	}
	return bases, nil
}

// scanFrom is COMMITTED if that can be right: a place between the segments' beginning and end,
// behind an LF. Otherwise the beginning of the last segment that has bytes.
func (l *Log) scanFrom(all []extent, committed int64) (int64, error) {
	if l.fresh {
		return lastUsed(all), nil
	}
	for _, x := range all {
		if committed == x.base {
			return committed, nil
		}
		if committed < x.base || committed > x.end {
			continue
		}
		f, err := l.fs.Open(l.segmentPath(x.base), os.O_RDONLY, 0)
		if err != nil {
			return 0, fmt.Errorf("chat/log: %w", err)
		}
		defer f.Close()
		var lf [1]byte
		if _, err := f.ReadAt(lf[:], committed-1-x.base); err != nil {
			return 0, l.failing("read what is there", err)
		}
		if lf[0] == '\n' {
			return committed, nil
		}
	}
	return lastUsed(all), nil
}

// sizeBetween counts the bytes that segments have between two offsets.
func sizeBetween(all []extent, from, to int64) (n int64) {
	for _, x := range all {
		n += max(0, min(x.end, to)-max(x.base, from))
	}
	return n
}

// settle writes the bytes between two offsets again and syncs them: they may be left from a sync
// that failed, after which the system takes pages for clean that the disk does not have.
func (l *Log) settle(bases []int64, from, to int64) error {
	for i, base := range bases {
		stop := to
		if i+1 < len(bases) {
			stop = min(to, bases[i+1])
		}
		begin := max(from, base)
		if stop <= begin {
			continue
		}
		err := l.rewriting(l.segmentPath(base), func(f File) error {
			b := make([]byte, min(stop-begin, 1<<20))
			for at := begin; at < stop; {
				n, err := f.ReadAt(b[:min(int64(len(b)), stop-at)], at-base)
				if n == 0 && errors.Is(err, io.EOF) {
					break
				} else if n == 0 {
					return err
				}
				if _, err := f.WriteAt(b[:n], at-base); err != nil {
					return err
				}
				at += int64(n)
			}
			return f.Datasync()
		})
		if err != nil {
			return l.failing("write what is kept again", err)
		}
	}
	return nil
}

// begin makes a new segment at next, and cuts what there is from an offset on.
func (l *Log) begin(all []extent, next, from int64) error {
	bases := l.known()
	last := all[len(all)-1]
	if last.base < next || last.end > last.base {
		if err := l.finish(last.base); err != nil {
			return err
		}
		if err := l.create(next); err != nil {
			return err
		}
	}
	// From here on nobody takes the old segment for the last one, whatever happens to us.
	if err := l.words.setEnd(max(next, last.base)); err != nil {
		return err
	}
	if err := l.cutAt(from, bases); err != nil {
		return err
	}
	_, err := l.relist()
	return err
}

// successor makes the segment that a roll or a cut did not come to.
func (l *Log) successor(all []extent) error {
	last := all[len(all)-1]
	f, err := l.fs.Open(l.segmentPath(last.base), os.O_RDONLY, 0)
	if err != nil {
		return l.failing("open the last segment", err)
	}
	defer f.Close()
	st, err := f.State()
	if err != nil {
		return l.failing("look at the last segment", err)
	}
	if st.InUse {
		return nil
	}
	if last.end == last.base { // a name can't be taken twice: an empty segment may be used
		return l.fs.Chmod(l.segmentPath(last.base), writableMode)
	}
	if err := l.create(last.end); err != nil {
		return err
	}
	_, err = l.relist()
	return err
}

// adopt opens the last segment, whose end is the room's.
func (l *Log) adopt() error {
	bases := l.known()
	base := bases[len(bases)-1]
	f, err := l.fs.Open(l.segmentPath(base), os.O_RDWR, 0)
	if err != nil {
		return l.failing("open the last segment", err)
	}
	st, err := f.State()
	if err != nil {
		f.Close()
		return l.failing("look at the last segment", err)
	}
	if l.active != nil {
		l.active.Close()
	}
	l.active, l.base, l.undo, l.discards, l.lastEnd, l.fresh = f, base, -1, -1, -1, false
	if err := l.words.setEnd(base + st.Size); err != nil {
		return err
	}
	return l.words.setCommitted(base + st.Size)
}

// size of the active segment; 0 if it can't be told.
func (l *Log) size() int64 {
	st, _ := l.active.State()
	return st.Size
}
