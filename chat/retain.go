package chat

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"weir/chat/core"
	"weir/chat/data"
	"weir/chat/environment"
	"weir/chat/log"
	"weir/internal/disk"
)

// Retention limits the age of messages and the bytes of a log. 0 sets no limit. See
// [log.Log.Retain].
type Retention struct {
	Age   time.Duration
	Bytes int64
}

// Retained is what Retain removed from a log.
type Retained struct {
	Log    string // its folder in the data directory: "rooms/#a"
	Direct bool   // a direct conversation
	Bytes  int64
	Err    error // nil: all old messages were removed
}

// Retain removes old messages of rooms and direct conversations, open or not. Report is called for
// each log from which it removed messages, or failed to. Retain waits for the disk. It may be
// called at any time by one goroutine. The error is that of ctx, or says that the logs could not be
// listed.
func (s *Service) Retain(ctx context.Context, rooms, directs Retention, report func(Retained)) error {
	all, err := s.dataFiles().List()
	if err != nil && !errors.Is(err, data.ErrNone) {
		return err
	}
	for _, r := range all {
		retention := rooms
		if r.Direct {
			retention = directs
		}
		if retention == (Retention{}) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if removed, err := s.retain(r, retention); removed > 0 || err != nil {
			report(Retained{Log: r.Path, Direct: r.Direct, Bytes: removed, Err: err})
		}
	}
	return nil
}

// retain removes old messages of one log. No log is opened or closed meanwhile.
func (s *Service) retain(r data.Room, retention Retention) (removed int64, err error) {
	err = s.runTask(func(t *core.Task) (err error) {
		s.core.WithLog(t, r.Path, func(open environment.Log, now time.Time) {
			if open != nil {
				removed, err = open.Retain(retention.Age, retention.Bytes, now)
			} else {
				removed, err = retainClosed(s.opened.Disk, filepath.Join(s.dataDir, filepath.FromSlash(r.Path)), retention, now)
			}
		})
		return err
	})
	return removed, err
}

// retainClosed removes old messages of a log that is not open. It waits for the disk.
func retainClosed(on disk.FS, dir string, retention Retention, now time.Time) (removed int64, err error) {
	// deleted since it was listed, or too small for a segment to be removed
	if n := logBytes(on, dir); n == 0 || retention.Age == 0 && n <= retention.Bytes/4 {
		return 0, nil
	}
	l, err := log.Open(dir, log.Options{Disk: on})
	if err != nil {
		return 0, err
	}
	removed, err = l.Retain(retention.Age, retention.Bytes, now)
	return removed, errors.Join(err, l.Close())
}

// logBytes returns the size of all segments in a folder.
func logBytes(on disk.FS, dir string) (n int64) {
	entries, _ := on.ReadDir(dir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && strings.HasSuffix(e.Name(), ".log") {
			n += info.Size()
		}
	}
	return n
}

// dataFiles returns the data directory.
func (s *Service) dataFiles() data.Dir { return data.Dir{Path: s.dataDir, Disk: s.opened.Disk} }
