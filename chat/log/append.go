package log

import (
	"errors"
	"fmt"
	"os"
)

// Batch is the result of Append. It is valid until the next call of Append.
type Batch struct {
	Bytes []byte // all lines
	Lines []Line // slices of Bytes
	First int64  // offset of the first line
	End   int64  // offset behind the last line
}

// maxRetainedBuffer is the largest buffer, in bytes, that is reused for the next batch.
const maxRetainedBuffer = 1 << 20

// Append stores entries as one batch, in their order, and returns when the batch is on disk. From
// then on every reader finds it. After an error no entry of the batch is acknowledged, and the
// caller may retry.
func (l *Log) Append(entries []Entry) (Batch, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.writable(); err != nil {
		return Batch{}, err
	}
	if err := l.lockForAppend(); err != nil {
		return Batch{}, err
	}
	b, err := l.writeBatchLocked(entries)
	l.writeLock.release()
	if err != nil {
		if errors.Is(err, errSync) {
			err = l.failRollSync(err)
		}
		return Batch{}, err
	}
	if err := l.commit(b.End); err != nil {
		return Batch{}, err
	}
	return b, nil
}

// writable returns an error if the log cannot be changed.
func (l *Log) writable() error {
	switch {
	case l.closed:
		return ErrClosed
	case l.readOnly:
		return ErrReadOnly
	}
	return nil
}

// lockForAppend takes the write lock of a consistent room: no writer died in a write, and the open
// segment is the last one.
func (l *Log) lockForAppend() error {
	for range 100 { // other processes may change the room in between, but rarely so often
		if l.discardFrom < 0 {
			if err := l.writeLock.take(); err != nil {
				return err
			}
			ok, err := l.isConsistentLocked()
			if ok {
				return nil
			}
			l.writeLock.release()
			if err != nil {
				return err
			}
		}
		if err := l.withLocks(l.restoreLocked); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: %s: other processes change the room faster than it can be checked", ErrFailing, l.dir)
}

// restoreLocked restores the room if it is inconsistent. The caller holds both locks.
func (l *Log) restoreLocked() error {
	if l.discardFrom >= 0 {
		if err := l.discardLocked(); err != nil {
			return err
		}
	}
	if ok, err := l.isConsistentLocked(); ok || err != nil {
		return err
	}
	return l.recoverLocked()
}

// isConsistentLocked reports whether the open segment is the last one and ends at END. It cuts a
// refused batch first. The caller holds the write lock.
func (l *Log) isConsistentLocked() (bool, error) {
	if l.active == nil {
		return false, nil
	}
	st, err := l.active.State()
	if err != nil {
		return false, l.diskError("stat the last segment", err)
	}
	end := l.offsets.end()
	if l.undoFrom >= 0 && inUse(st) && end == l.undoFrom && l.activeBase+st.Size > end {
		if err := l.active.Truncate(end - l.activeBase); err != nil {
			return false, l.diskError("cut a refused batch", err)
		}
		st.Size = end - l.activeBase
	}
	l.undoFrom = -1
	l.fileEnd = l.activeBase + st.Size
	if !inUse(st) {
		return false, nil
	}
	return l.endsAtLocked(st, end)
}

// writeBatchLocked writes entries at END and moves END behind them. The caller holds the write
// lock.
func (l *Log) writeBatchLocked(entries []Entry) (Batch, error) {
	end := l.offsets.end()
	if end-l.activeBase >= l.segmentSize {
		if err := l.rollLocked(end); err != nil {
			return Batch{}, err
		}
	}
	b, last, err := l.encode(entries, end)
	if err != nil || len(b.Bytes) == 0 {
		return b, err
	}
	if _, err := l.active.WriteAt(b.Bytes, end-l.activeBase); err != nil {
		return Batch{}, l.undoWriteLocked(end, l.diskError("store a batch", err))
	}
	if err := l.offsets.setEnd(b.End); err != nil {
		return Batch{}, l.undoWriteLocked(end, err)
	}
	l.lastEnd, l.lastTime = b.End, last
	l.activity.add(len(b.Bytes), last)
	if b.End > l.fileEnd {
		l.padLocked(b)
	}
	return b, nil
}

// encode returns the lines of a batch that starts at an offset, and the time of the last one.
func (l *Log) encode(entries []Entry, at int64) (b Batch, last int64, err error) {
	if cap(l.buf) > maxRetainedBuffer {
		l.buf, l.lines = nil, nil
	}
	last = l.lastTime
	if l.lastEnd != at {
		if last, err = l.timeBefore(at); err != nil {
			return b, 0, err
		}
	}
	buf := l.buf[:0]
	for i := range entries {
		if buf, last, err = l.encoder.append(buf, &entries[i], at+int64(len(buf)), last); err != nil {
			return b, 0, fmt.Errorf("message %d of %d: %w", i+1, len(entries), err)
		}
	}
	l.buf, l.lines = buf, l.lines[:0]
	for rest := buf; len(rest) > 0; {
		n := lineLength(rest)
		l.lines = append(l.lines, Line(rest[:n:n]))
		rest = rest[n:]
	}
	return Batch{Bytes: buf, Lines: l.lines, First: at, End: at + int64(len(buf))}, last, nil
}

// undoWriteLocked cuts the bytes of a failed write behind END. If the cut fails too, it is tried
// again before the next batch. The caller holds the write lock.
func (l *Log) undoWriteLocked(end int64, because error) error {
	if err := l.active.Truncate(end - l.activeBase); err != nil {
		l.undoFrom = end
	}
	return because
}

// errSync marks a failed fdatasync. Bytes that are not committed may be lost.
var errSync = errors.New("fdatasync failed")

// rollLocked starts a new segment. A segment with a successor is completely on disk. The caller
// holds the write lock.
func (l *Log) rollLocked(end int64) error {
	if err := l.cutPaddingLocked(); err != nil {
		return err
	}
	if err := l.active.Datasync(); err != nil {
		return l.diskError("sync a segment", fmt.Errorf("%w: %w", errSync, err))
	}
	if err := l.finish(l.activeBase); err != nil {
		return err
	}
	if err := l.create(end); err != nil {
		return err
	}
	if _, err := l.relist(); err != nil {
		return err
	}
	f, err := l.disk.OpenFile(l.segmentPath(end), os.O_RDWR, 0)
	if err != nil {
		return l.diskError("open the new segment", err)
	}
	l.active.Close()
	l.active, l.activeBase, l.fileEnd = f, end, end
	return nil
}

// commit returns when all bytes of the active segment before an offset are on disk, synced by this
// process or another (group commit).
func (l *Log) commit(end int64) error {
	if err := l.syncLock.take(); err != nil {
		l.discardFrom = l.offsets.committed()
		return err
	}
	defer l.syncLock.release()
	// END is read before the size: another process may roll the log now, which cuts the padding
	// before it moves END into the next segment
	to := l.offsets.end()
	st, err := l.active.State()
	if err != nil {
		return l.refuse(l.diskError("stat the last segment", err))
	}
	written := l.activeBase + st.Size
	if l.offsets.committed() >= end { // another process has synced this batch, or has cut it
		if written < end {
			return fmt.Errorf("%w: %s: another process could not sync this batch", ErrFailing, l.dir)
		}
		return nil
	}
	if to = min(to, written); to < end {
		return fmt.Errorf("%w: %s: another process has cut the segment", ErrFailing, l.dir)
	}
	if err := l.active.Datasync(); err != nil {
		return l.refuse(l.diskError("sync a batch", err))
	}
	if err := l.offsets.setCommitted(to); err != nil {
		return l.refuse(err)
	}
	return nil
}

// refuse is refuseLocked for a caller that holds the sync lock only.
func (l *Log) refuse(because error) error {
	if err := l.writeLock.take(); err != nil {
		l.discardFrom = l.offsets.committed()
		return err
	}
	defer l.writeLock.release()
	return l.refuseLocked(because)
}

// commitAllLocked commits everything that is written, so that no writer still waits for the result
// of a sync, and cuts the padding. The room is consistent, and the caller holds both locks.
func (l *Log) commitAllLocked() error {
	if err := l.cutPaddingLocked(); err != nil {
		return err
	}
	end := l.offsets.end()
	if l.offsets.committed() >= end {
		return nil
	}
	if err := l.active.Datasync(); err != nil {
		return l.refuseLocked(l.diskError("sync a batch", err))
	}
	return l.offsets.setCommitted(end)
}

// refuseLocked discards the uncommitted batches after a failed commit, and returns the reason: the
// next commit would include them, although they were refused. If that fails too, it is tried again
// before the next batch. The caller holds both locks.
func (l *Log) refuseLocked(because error) error {
	l.discardFrom = l.offsets.committed()
	_ = l.discardLocked()
	return because
}

// failRollSync does the same after a failed sync in rollLocked. It takes both locks itself.
func (l *Log) failRollSync(because error) error {
	l.discardFrom = l.offsets.committed()
	_ = l.withLocks(l.discardLocked)
	return because
}

// discardLocked cuts all uncommitted bytes: after a failed sync it is unknown which of them are on
// disk. COMMITTED moves over the gap, which notifies the waiting writers that their batches are
// refused. The caller holds both locks.
func (l *Log) discardLocked() error {
	from := l.offsets.committed()
	if from != l.discardFrom { // another process has restored the room
		l.discardFrom = -1
		return nil
	}
	bases, err := l.relist()
	if err != nil {
		return err
	}
	all, err := l.extentsWithoutPaddingLocked(bases)
	if err != nil {
		return err
	}
	next := max(all[len(all)-1].end, l.offsets.end())
	if err := l.startSegmentLocked(all, next, from); err != nil {
		return err
	}
	return l.openActiveLocked()
}
