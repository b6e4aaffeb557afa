package chat

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"weir/chat/data"
	"weir/chat/irc"
	"weir/chat/log"
)

// Retention says how long messages are kept: so long, and so many bytes of a log. 0 sets no limit.
// See [log.Log.Retain].
type Retention struct {
	Age   time.Duration
	Bytes int64
}

// Retained is what was removed of a log.
type Retained struct {
	Log    string // its folder in the data directory: "rooms/#a"
	Direct bool   // a conversation of two
	Bytes  int64
	Err    error // why not all could be removed
}

// Retain removes old messages: of rooms, and of direct conversations, whether somebody has them
// open or not. Told is called for each log of which something was removed, or could not be. It
// waits for the disk, and may be called at any time from one goroutine. The error is of ctx, or
// says that the logs could not be listed.
func (s *Service) Retain(ctx context.Context, rooms, directs Retention, told func(Retained)) error {
	all, err := data.List(s.dir)
	if err != nil && !errors.Is(err, data.ErrNone) {
		return err
	}
	for _, r := range all {
		keep := rooms
		if r.Direct {
			keep = directs
		}
		if keep == (Retention{}) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if removed, err := s.retain(r, keep); removed > 0 || err != nil {
			told(Retained{Log: r.Path, Direct: r.Direct, Bytes: removed, Err: err})
		}
	}
	return nil
}

// retain removes old messages of one log. Nobody opens or closes one meanwhile.
func (s *Service) retain(r data.Room, keep Retention) (removed int64, err error) {
	s.opening.Lock()
	defer s.opening.Unlock()
	if f := s.openOne(r); f != nil {
		return f.log.Retain(keep.Age, keep.Bytes, s.o.Now())
	}
	dir := filepath.Join(s.dir, filepath.FromSlash(r.Path))
	// it was deleted since it was listed, or is not even to be rolled
	if n := size(dir); n == 0 || keep.Age == 0 && n <= keep.Bytes/4 {
		return 0, nil
	}
	l, err := log.Open(dir, log.Options{})
	if err != nil {
		return 0, err
	}
	removed, err = l.Retain(keep.Age, keep.Bytes, s.o.Now())
	return removed, errors.Join(err, l.Close())
}

// openOne is a room's or conversation's feed if it is open. The caller holds opening, so that it
// stays so.
func (s *Service) openOne(r data.Room) *feed {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Direct {
		return s.directs[r.Name]
	}
	if open := s.rooms[irc.Fold(r.Name)]; open != nil {
		return &open.feed
	}
	return nil
}

// size is how many bytes the segments in a folder have.
func size(dir string) (n int64) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && strings.HasSuffix(e.Name(), ".log") {
			n += info.Size()
		}
	}
	return n
}
