package log

import (
	"errors"
	"time"
)

// Retain removes old segments: those whose lines are all older than age, and the oldest ones while
// the room has more than the given bytes. 0 sets no limit. A segment is removed as a whole, so up
// to a quarter of the limit may stay longer, provided that Retain is called at least that often.
// The last segment stays. removed is in bytes.
func (l *Log) Retain(age time.Duration, bytes int64, now time.Time) (removed int64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.writable(); err != nil {
		return 0, err
	}
	err = l.withLocks(func() error {
		if err := l.restoreLocked(); err != nil {
			return err
		}
		if err := l.commitAllLocked(); err != nil {
			return err
		}
		if err := l.rollForRetentionLocked(age, bytes, now); err != nil {
			return err
		}
		removed, err = l.removeOld(age, bytes, now)
		return err
	})
	return removed, err
}

// rollForRetentionLocked starts a new segment when the last one has a quarter of the limit. The
// caller holds both locks.
func (l *Log) rollForRetentionLocked(age time.Duration, bytes int64, now time.Time) error {
	size := l.offsets.end() - l.activeBase
	due := bytes > 0 && size > bytes/4
	if age > 0 && size > 0 && !due {
		first, err := l.firstFrom(l.activeBase)
		if err != nil {
			return err
		}
		due = first != nil && first.Time().Before(now.Add(-age/4))
	}
	if !due || size == 0 {
		return nil
	}
	err := l.rollLocked(l.offsets.end())
	if errors.Is(err, errSync) {
		return l.refuseLocked(l.diskError("sync a batch", err))
	}
	return err
}

func (l *Log) removeOld(age time.Duration, bytes int64, now time.Time) (removed int64, err error) {
	bases, err := l.relist()
	if err != nil {
		return 0, err
	}
	all, err := l.extents(bases)
	if err != nil {
		return 0, err
	}
	total := sizeBetween(all, 0, maxOffset)
	for _, x := range all[:len(all)-1] {
		old := bytes > 0 && total > bytes
		if age > 0 && !old {
			newest, err := l.newestIn(x)
			if err != nil {
				return removed, err
			}
			old = newest.Before(now.Add(-age))
		}
		if !old {
			break
		}
		if err := l.disk.Remove(l.segmentPath(x.base)); err != nil {
			return removed, l.diskError("remove a segment", err)
		}
		removed += x.end - x.base
		total -= x.end - x.base
	}
	// also if nothing was removed: the sync of an earlier removal, by any process, may have failed
	if err := l.files().SyncDir(l.dir); err != nil {
		return removed, l.diskError("remove a segment", err)
	}
	_, err = l.relist()
	return removed, err
}

// newestIn returns the time of a segment's last line. A segment without a valid line is as old as
// its file.
func (l *Log) newestIn(x extent) (time.Time, error) {
	lines, err := l.latestIn(x.base, x.end, 1)
	if err != nil {
		return time.Time{}, l.diskError("read a segment", err)
	}
	if len(lines) == 1 {
		return lines[0].Time(), nil
	}
	info, err := l.disk.Stat(l.segmentPath(x.base))
	if err != nil {
		return time.Time{}, l.diskError("read a segment", err)
	}
	return info.ModTime(), nil
}
