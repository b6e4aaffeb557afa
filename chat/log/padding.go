package log

import (
	"bytes"
	"io"

	"weir/internal/disk"
)

// A sync of bytes that make a file longer also writes the inode. So the log of a busy room has
// zeros written behind its last line, which the next batches overwrite: the padding. Lines contain
// no NUL, so a segment ends behind its last byte that is not zero (docs/protocol.md, "Padding").
const (
	minPadding = 4 << 10 // a block of most file systems
	// The growth of a file by more zeros delays its batch, and saves hardly another sync.
	maxPadding = 64 << 10
	// A larger batch gets no padding: it would use it up at once.
	maxPaddedBatch = maxPadding / 8
	// number of batches within a second from which on a room is busy
	busyBatches = 8
)

var zeros [maxPadding]byte

// activity measures how busy a room is, by the times of its lines.
type activity struct {
	busyFrom int   // number of batches within a second from which on the room is busy
	start    int64 // start of the current second, in Unix milliseconds
	batches  int   // since start
	bytes    int64 // of these batches
}

// add counts a batch of some bytes at a time.
func (a *activity) add(bytes int, at int64) {
	if at < a.start || at-a.start >= 1000 {
		a.start, a.batches, a.bytes = at, 0, 0
	}
	a.batches++
	a.bytes += int64(bytes)
}

// padding returns the number of zeros to write behind a batch, 0 for none. It is proportional to
// the bytes of the current second, so that a room that becomes quiet leaves few.
func (a *activity) padding(batch int) int64 {
	if a.batches < a.busyFrom || batch > maxPaddedBatch {
		return 0
	}
	return min(max(4*a.bytes, minPadding), maxPadding)
}

// padLocked writes zeros behind a batch that made the segment longer. If that fails, the room goes
// on without. The caller holds the write lock.
func (l *Log) padLocked(b Batch) {
	n := l.activity.padding(len(b.Bytes))
	if n == 0 {
		return
	}
	l.padded = true
	at := b.End - l.activeBase
	if _, err := l.active.WriteAt(zeros[:n], at); err != nil {
		_ = l.active.Truncate(at) // other rooms may need the space
		l.activity.batches = 0    // not again for some batches
	}
}

// endsAtLocked reports whether the lines of the open segment end at END: there is no byte behind
// it, or padding. A writer that was killed has left a prefix of its batch, so one byte tells. The
// caller holds the write lock.
func (l *Log) endsAtLocked(st disk.State, end int64) (bool, error) {
	at := end - l.activeBase
	if at < 0 || st.Size <= at {
		return st.Size == at, nil
	}
	if _, err := l.active.ReadAt(l.probe[:], at); err != nil {
		return false, l.diskError("read the last segment", err)
	}
	return l.probe[0] == 0, nil
}

// cutPaddingLocked cuts the padding of the open segment, which ends at END. A writer that replaces
// or finishes the segment calls it first: a reader that has the file open must find its end. The
// caller holds the write lock.
func (l *Log) cutPaddingLocked() error {
	end := l.offsets.end() - l.activeBase
	st, err := l.active.State()
	if err == nil && st.Size > end {
		err = l.active.Truncate(end)
	}
	if err != nil {
		return l.diskError("cut the padding of a segment", err)
	}
	return nil
}

// extentsWithoutPaddingLocked returns the ranges of segments and cuts the padding of the last one,
// without a sync. The caller holds both locks.
func (l *Log) extentsWithoutPaddingLocked(bases []int64) ([]extent, error) {
	all, err := l.extents(bases)
	if err != nil {
		return nil, err
	}
	last := all[len(all)-1]
	name := l.segmentPath(last.base)
	st, err := l.disk.Stat(name)
	if err == nil && st.Size() > last.end-last.base {
		err = l.withWritable(name, func(f disk.File) error { return f.Truncate(last.end - last.base) })
	}
	if err != nil {
		return nil, l.diskError("cut the padding of a segment", err)
	}
	return all, nil
}

// cutOwnPadding cuts the padding before the log is closed. It leaves it where another process uses
// the room.
func (l *Log) cutOwnPadding() {
	if !l.padded || l.writeLock.f.TryLock() != nil {
		return
	}
	defer l.writeLock.release()
	if ok, _ := l.isConsistentLocked(); ok {
		_ = l.cutPaddingLocked() // the next process to open the room cuts it
	}
}

// dataSize returns the size of a segment without its padding.
func dataSize(d disk.FS, name string) (int64, error) {
	f, err := disk.Open(d, name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	st, err := f.State()
	if err != nil {
		return 0, err
	}
	b := make([]byte, min(st.Size, maxPadding))
	for size := st.Size; size > 0; {
		part := b[:min(size, int64(len(b)))]
		size -= int64(len(part))
		n, err := f.ReadAt(part, size)
		if n < len(part) && err != io.EOF { // a writer may cut it meanwhile
			return 0, err
		}
		if used := bytes.TrimRight(part[:n], "\x00"); len(used) > 0 {
			return size + int64(len(used)), nil
		}
	}
	return 0, nil
}
