package log

import (
	"errors"
	"fmt"
	"os"
)

// Batch is what Append stored. It is dead when Append is called again.
type Batch struct {
	Bytes []byte // the lines joined
	Lines []Line // slices of Bytes
	First int64  // offset of the first line
	End   int64  // offset behind the last
}

// maxKept is the largest buffer that is kept between batches.
const maxKept = 1 << 20

// Append stores entries as one batch, in their order, and returns when the disk has it: then every
// reader finds it. After an error nothing of the batch is acknowledged, and it may be tried again.
func (l *Log) Append(entries []Entry) (Batch, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.writable(); err != nil {
		return Batch{}, err
	}
	if err := l.lockInOrder(); err != nil {
		return Batch{}, err
	}
	b, err := l.put(entries)
	l.write.release()
	if err != nil {
		if errors.Is(err, errSync) {
			err = l.refuse(err)
		}
		return Batch{}, err
	}
	if err := l.commit(b.End); err != nil {
		return Batch{}, err
	}
	return b, nil
}

func (l *Log) writable() error {
	switch {
	case l.closed:
		return ErrClosed
	case l.readOnly:
		return ErrReadOnly
	}
	return nil
}

// lockInOrder takes the write lock of a room that is in order: nobody died while writing, and ours
// is the last segment.
func (l *Log) lockInOrder() error {
	for range 100 { // others may get in between, but hardly as often
		if l.discards < 0 {
			if err := l.write.take(); err != nil {
				return err
			}
			ok, err := l.isInOrder()
			if ok {
				return nil
			}
			l.write.release()
			if err != nil {
				return err
			}
		}
		if err := l.inOrder(l.order); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: %s: others change the room faster than it can be looked at", ErrFailing, l.dir)
}

// order brings the room in order if it is not, both locks held.
func (l *Log) order() error {
	if l.discards >= 0 {
		if err := l.discard(); err != nil {
			return err
		}
	}
	if ok, err := l.isInOrder(); ok || err != nil {
		return err
	}
	return l.recover()
}

// isInOrder looks for what others have done since, the write lock held.
func (l *Log) isInOrder() (bool, error) {
	if l.active == nil {
		return false, nil
	}
	st, err := l.active.State()
	if err != nil {
		return false, l.failing("look at the last segment", err)
	}
	end := l.words.end()
	if l.undo >= 0 && st.InUse && end == l.undo && l.base+st.Size > end {
		if err := l.active.Truncate(end - l.base); err != nil {
			return false, l.failing("cut back what was refused", err)
		}
		st.Size = end - l.base
	}
	l.undo = -1
	return st.InUse && l.base+st.Size == end, nil
}

// put writes entries at END and moves it, the write lock held.
func (l *Log) put(entries []Entry) (Batch, error) {
	end := l.words.end()
	if end-l.base >= l.segment {
		if err := l.roll(end); err != nil {
			return Batch{}, err
		}
	}
	b, last, err := l.encode(entries, end)
	if err != nil || len(b.Bytes) == 0 {
		return b, err
	}
	if _, err := l.active.WriteAt(b.Bytes, end-l.base); err != nil {
		return Batch{}, l.takeBack(end, l.failing("store a batch", err))
	}
	if err := l.words.setEnd(b.End); err != nil {
		return Batch{}, l.takeBack(end, err)
	}
	l.lastEnd, l.last = b.End, last
	return b, nil
}

// encode makes the lines of a batch that begins at an offset.
func (l *Log) encode(entries []Entry, at int64) (b Batch, last int64, err error) {
	if cap(l.buf) > maxKept {
		l.buf, l.lines = nil, nil
	}
	last = l.last
	if l.lastEnd != at {
		if last, err = l.timeBefore(at); err != nil {
			return b, 0, err
		}
	}
	buf := l.buf[:0]
	for i := range entries {
		if buf, last, err = l.enc.append(buf, &entries[i], at+int64(len(buf)), last); err != nil {
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

// takeBack cuts what a write has left behind END. If that fails too it is tried again before the
// next batch.
func (l *Log) takeBack(end int64, because error) error {
	if err := l.active.Truncate(end - l.base); err != nil {
		l.undo = end
	}
	return because
}

// errSync marks a failed fdatasync: what is not committed may be lost.
var errSync = errors.New("the disk did not take what was written")

// roll goes on to a new segment, the write lock held. What a segment with a successor holds is on
// the disk.
func (l *Log) roll(end int64) error {
	if err := l.active.Datasync(); err != nil {
		return l.failing("sync a segment", fmt.Errorf("%w: %w", errSync, err))
	}
	if err := l.finish(l.base); err != nil {
		return err
	}
	if err := l.create(end); err != nil {
		return err
	}
	if _, err := l.relist(); err != nil {
		return err
	}
	f, err := l.fs.Open(l.segmentPath(end), os.O_RDWR, 0)
	if err != nil {
		return l.failing("open the new segment", err)
	}
	l.active.Close()
	l.active, l.base = f, end
	return nil
}

// commit returns when all that was written to the active segment up to an offset is on the disk, by
// our sync or by that of another process.
func (l *Log) commit(end int64) error {
	if err := l.sync.take(); err != nil {
		return err
	}
	defer l.sync.release()
	st, err := l.active.State()
	if err != nil {
		return l.failing("look at the last segment", err)
	}
	written := l.base + st.Size
	if l.words.committed() >= end { // somebody has synced this, or has cut it
		if written < end {
			return fmt.Errorf("%w: %s: another process could not sync this batch", ErrFailing, l.dir)
		}
		return nil
	}
	to := min(l.words.end(), written)
	if to < end {
		return fmt.Errorf("%w: %s: the segment was cut by somebody else", ErrFailing, l.dir)
	}
	if err := l.active.Datasync(); err != nil {
		if e := l.write.take(); e != nil {
			l.discards = l.words.committed()
			return e
		}
		defer l.write.release()
		return l.unsynced(err)
	}
	return l.words.setCommitted(to)
}

// syncAll commits all that is written, in a room that is in order and both of whose locks are held:
// nobody waits for a sync any more who does not know yet how it went.
func (l *Log) syncAll() error {
	end := l.words.end()
	if l.words.committed() >= end {
		return nil
	}
	if err := l.active.Datasync(); err != nil {
		return l.unsynced(err)
	}
	return l.words.setCommitted(end)
}

// unsynced discards what waits after a failed sync, both locks held. If that fails too, it is tried
// again before the next batch.
func (l *Log) unsynced(because error) error {
	l.discards = l.words.committed()
	_ = l.discard()
	return l.failing("sync a batch", because)
}

// refuse is unsynced after a sync that failed where only the write lock was held, which was
// released since.
func (l *Log) refuse(because error) error {
	l.discards = l.words.committed()
	_ = l.inOrder(l.discard)
	return because
}

// discard cuts all that is written and not committed, both locks held: after a failed sync nobody
// knows what the disk has of it. COMMITTED moves over the gap, by which those who wait see that
// they were refused.
func (l *Log) discard() error {
	from := l.words.committed()
	if from != l.discards { // somebody has brought the room in order
		l.discards = -1
		return nil
	}
	bases, err := l.relist()
	if err != nil {
		return err
	}
	all, err := l.extents(bases)
	if err != nil {
		return err
	}
	next := max(all[len(all)-1].end, l.words.end())
	if err := l.begin(all, next, from); err != nil {
		return err
	}
	return l.adopt()
}
