package log

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"weir/internal/disk"
)

// lastUsed returns the base of the last segment that is not empty, or of the first segment.
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

// maxTorn is the largest size of a torn tail that contains valid lines, in bytes. A batch is torn
// where it overwrites padding, or just behind it.
const maxTorn = 2 * maxPadding

// scan reads from an offset to the end of the segments. end is the end of the last valid line, or
// from if there is none. last is its time in Unix milliseconds. Invalid bytes before it are counted
// in found. A hole ends the lines, too: zeros behind COMMITTED and near the end are sectors that a
// loss of power has kept from the disk, so nothing behind them in the segment was acknowledged.
func (l *Log) scan(from int64, all []extent, found *Recovery) (end, last int64, err error) {
	r := l.reader(from, streamBuffer)
	r.uncommitted = true
	hole, holeFrom := false, max(lastUsed(all), all[len(all)-1].end-maxTorn)
	if l.offsets.at != nil { // no copy
		holeFrom = max(holeFrom, l.offsets.committed())
	}
	r.onBad = func(at int64, b []byte) {
		if _, ok := parseLine(b); ok {
			found.keepsCopy = true
		}
		hole = hole || at >= holeFrom && bytes.IndexByte(b, 0) >= 0
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
		if hole {
			found.keepsCopy = true
			return end, last, nil
		}
		end, last, found.Bad = r.pos, line.Time().UnixMilli(), r.badBytes
	}
}

// recoverLocked restores the room: it keeps valid lines, cuts the torn tail, sets COMMITTED and END
// to the end, and opens the last segment. After an error COMMITTED is unchanged. The caller holds
// both locks.
func (l *Log) recoverLocked() error {
	bases, err := l.prepareSegmentsLocked()
	if err != nil {
		return err
	}
	all, err := l.extentsWithoutPaddingLocked(bases)
	if err != nil {
		return err
	}
	var found Recovery
	committed, end := l.offsets.committed(), l.offsets.end()
	physical := all[len(all)-1].end
	from, err := l.scanFrom(all, committed)
	if err != nil {
		return err
	}
	if committed > physical {
		found.Lost = committed - physical
	}
	whole, _, err := l.scan(from, all, &found)
	if err != nil {
		return l.diskError("read the segments", err)
	}
	if err := l.rewriteLocked(bases, from, whole); err != nil {
		return err
	}
	if from == committed && !l.newCommitted {
		found.Kept = sizeBetween(all, committed, whole)
	}
	found.Cut, found.At = sizeBetween(all, whole, math.MaxInt64), whole
	next := max(physical, end, committed)
	if found.Cut > 0 && found.keepsCopy {
		if _, err = l.keepDamaged(l.segmentPath(lastUsed(all))); err != nil {
			return l.diskError("copy the segment that is cut", err)
		}
	}
	if found.Cut > 0 || next > physical {
		err = l.startSegmentLocked(all, next, whole)
	} else if err = l.ensureSuccessorLocked(all); err == nil {
		next = physical
	}
	if err != nil {
		return err
	}
	// the process that changed the names may have been killed before its sync, or it failed
	if err := l.files().SyncDir(l.dir); err != nil {
		return l.diskError("sync the names of the segments", err)
	}
	if err := l.openActiveLocked(); err != nil {
		return err
	}
	found.Next = l.activeBase + l.size()
	l.recovery = found
	return nil
}

// prepareSegmentsLocked removes incomplete files, creates the first segment if there is none, and
// marks all segments but the last as finished. The caller holds both locks.
func (l *Log) prepareSegmentsLocked() ([]int64, error) {
	bases, others, err := listSegments(l.disk, l.dir)
	if err != nil {
		return nil, fmt.Errorf("chat/log: %w", err)
	}
	for _, name := range others {
		// these are temporary files of package durable, not of the log
		if strings.HasSuffix(name, ".tmp") && !strings.HasPrefix(name, ".") {
			if err := l.disk.Remove(filepath.Join(l.dir, name)); err != nil {
				return nil, l.diskError("remove "+name, err)
			}
		}
	}
	if len(bases) == 0 {
		if err := l.create(max(l.offsets.committed(), l.offsets.end())); err != nil {
			return nil, err
		}
	}
	if bases, err = l.relist(); err != nil {
		return nil, err
	}
	for _, base := range bases[:len(bases)-1] {
		if info, err := l.disk.Stat(l.segmentPath(base)); err == nil && info.Mode().Perm() != finishedMode {
			if err := l.finish(base); err != nil {
				return nil, err
			}
		}
	}
	return bases, nil
}

// scanFrom returns where recovery starts to read: COMMITTED, if that is the start of a segment or
// behind an LF, and otherwise the start of the last segment that is not empty.
func (l *Log) scanFrom(all []extent, committed int64) (int64, error) {
	if l.newCommitted {
		return lastUsed(all), nil
	}
	for _, x := range all {
		if committed == x.base {
			return committed, nil
		}
		if committed < x.base || committed > x.end {
			continue
		}
		f, err := disk.Open(l.disk, l.segmentPath(x.base))
		if err != nil {
			return 0, fmt.Errorf("chat/log: %w", err)
		}
		defer f.Close()
		var lf [1]byte
		if _, err := f.ReadAt(lf[:], committed-1-x.base); err != nil {
			return 0, l.diskError("read the segments", err)
		}
		if lf[0] == '\n' {
			return committed, nil
		}
	}
	return lastUsed(all), nil
}

// sizeBetween counts the bytes of segments between two offsets.
func sizeBetween(all []extent, from, to int64) (n int64) {
	for _, x := range all {
		n += max(0, min(x.end, to)-max(x.base, from))
	}
	return n
}

// rewriteLocked writes the bytes between two offsets again, in place, and syncs their segments and
// all behind them. After a failed sync the kernel may regard pages as clean that are not on disk. A
// process that cut a segment may have been killed before its sync. The caller holds both locks.
func (l *Log) rewriteLocked(bases []int64, from, to int64) error {
	for i := segmentIndex(bases, from); i < len(bases); i++ {
		begin, stop := max(from, bases[i]), to
		if i+1 < len(bases) {
			stop = min(to, bases[i+1])
		}
		sync := l.syncSegment
		if begin < stop {
			sync = func(base int64) error { return l.rewrite(base, begin, stop) }
		}
		if err := sync(bases[i]); err != nil {
			return l.diskError("rewrite the lines that are kept", err)
		}
	}
	return nil
}

// rewrite writes the bytes of a segment between two offsets again and syncs them.
func (l *Log) rewrite(base, from, to int64) error {
	return l.withWritable(l.segmentPath(base), func(f disk.File) error {
		b := make([]byte, min(to-from, 1<<20))
		for at := from; at < to; {
			n, err := f.ReadAt(b[:min(int64(len(b)), to-at)], at-base)
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
}

// syncSegment syncs a segment that is not written to.
func (l *Log) syncSegment(base int64) error {
	f, err := disk.Open(l.disk, l.segmentPath(base))
	if err != nil {
		return err
	}
	return errors.Join(f.Datasync(), f.Close())
}

// startSegmentLocked creates a segment at next and cuts everything from an offset on. The caller
// holds both locks.
func (l *Log) startSegmentLocked(all []extent, next, from int64) error {
	bases := l.knownBases()
	last := all[len(all)-1]
	if last.base < next || last.end > last.base {
		if err := l.finish(last.base); err != nil {
			return err
		}
		if err := l.create(next); err != nil {
			return err
		}
	}
	// From here on no process uses the old segment as the last one, even if this one dies.
	if err := l.offsets.setEnd(max(next, last.base)); err != nil {
		return err
	}
	if err := l.truncateAt(from, bases); err != nil {
		return err
	}
	_, err := l.relist()
	return err
}

// ensureSuccessorLocked creates the successor of a finished last segment, which an interrupted roll
// or cut has left. The caller holds both locks.
func (l *Log) ensureSuccessorLocked(all []extent) error {
	last := all[len(all)-1]
	f, err := disk.Open(l.disk, l.segmentPath(last.base))
	if err != nil {
		return l.diskError("open the last segment", err)
	}
	defer f.Close()
	st, err := f.State()
	if err != nil {
		return l.diskError("stat the last segment", err)
	}
	if inUse(st) {
		return nil
	}
	// an empty segment is used again, because its name cannot be created twice
	if last.end == last.base {
		return l.disk.Chmod(l.segmentPath(last.base), writableMode)
	}
	if err := l.create(last.end); err != nil {
		return err
	}
	_, err = l.relist()
	return err
}

// openActiveLocked opens the last segment and sets END and COMMITTED to its end. The caller holds
// both locks.
func (l *Log) openActiveLocked() error {
	bases := l.knownBases()
	base := bases[len(bases)-1]
	f, err := l.disk.OpenFile(l.segmentPath(base), os.O_RDWR, 0)
	if err != nil {
		return l.diskError("open the last segment", err)
	}
	st, err := f.State()
	if err != nil {
		f.Close()
		return l.diskError("stat the last segment", err)
	}
	if l.active != nil {
		l.active.Close()
	}
	l.active, l.activeBase, l.undoFrom, l.discardFrom, l.lastEnd, l.newCommitted = f, base, -1, -1, -1, false
	if err := l.offsets.setEnd(base + st.Size); err != nil {
		return err
	}
	return l.offsets.setCommitted(base + st.Size)
}

// size returns the size of the active segment, 0 after an error.
func (l *Log) size() int64 {
	st, _ := l.active.State()
	return st.Size
}
