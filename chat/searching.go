package chat

import (
	"context"
	"errors"
	"strings"
	"time"

	"weir/chat/data"
	"weir/chat/search"
)

// The index for searching is kept while the service runs, by a goroutine of its own: what is said waits for it nowhere. What a search asks for is
// brought up to date before it, so that a message is found as soon as it is seen.

// followEvery is how soon what was said or redacted is in the index, or gone from it, without a search: a room in which somebody spoke costs
// half a millisecond each time. Tests are in a hurry.
var followEvery = 5 * time.Second

// reviewEvery is how often all rooms are looked at, also those that nobody is in.
const reviewEvery = 10 * time.Minute

var errNoIndex = errors.New("there is no index for searching")

// searchIndex is the index, which is opened when it is first needed. It waits for the disk, and must not be called with mu.
func (s *Service) searchIndex() (*search.Index, error) {
	s.indexing.Lock()
	defer s.indexing.Unlock()
	if s.index == nil {
		x, err := search.Open(s.life, s.dir)
		if err != nil {
			return nil, errors.Join(errNoIndex, err)
		}
		s.index = x
	}
	return s.index, nil
}

// followRooms keeps the index until ctx ends.
func (s *Service) followRooms(ctx context.Context) {
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for reviewed := (time.Time{}); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		x, err := s.searchIndex()
		switch {
		case err != nil:
		case time.Since(reviewed) >= reviewEvery:
			if err = x.Update(ctx); err == nil {
				reviewed = time.Now()
			}
		default:
			err = s.follow(ctx, x, func(*feed) bool { return true })
		}
		if ctx.Err() == nil {
			s.indexFails(err)
		}
	}
}

// indexFails logs what is wrong with the index, if that is something new; nil is nothing.
func (s *Service) indexFails(err error) {
	s.indexing.Lock()
	defer s.indexing.Unlock()
	was := s.indexFault
	if s.indexFault = ""; err != nil {
		s.indexFault = err.Error()
	}
	if s.indexFault != "" && s.indexFault != was {
		s.o.Log.Error("the index for searching cannot be kept", "error", err)
	}
}

// follow brings the index up to date in those of the open conversations where something was said since.
func (s *Service) follow(ctx context.Context, x *search.Index, wanted func(*feed) bool) error {
	type moved struct {
		f  *feed
		to int64
	}
	var behind []moved
	var rooms []data.Room
	s.mu.Lock()
	add := func(f *feed) {
		if f.indexed < f.delivered && wanted(f) {
			behind = append(behind, moved{f, f.delivered})
			rooms = append(rooms, data.Room{Name: f.name, Path: f.path(), Direct: f.room == nil})
		}
	}
	for _, r := range s.rooms {
		add(&r.feed)
	}
	for _, f := range s.directs {
		add(f)
	}
	s.mu.Unlock()
	if len(rooms) == 0 {
		return nil
	}
	if err := x.Follow(ctx, rooms); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range behind {
		m.f.indexed = max(m.f.indexed, m.to)
	}
	return nil
}

// path is where the feed's log is, below the data directory. The caller holds the lock.
func (f *feed) path() string {
	if f.room != nil {
		return roomPath(f.name)
	}
	return directPath(f.pair[0], f.pair[1])
}

// feedAt is the conversation at a path, nil if it is not open.
func (s *Service) feedAt(path string) *feed {
	kind, folder, _ := strings.Cut(path, "/")
	s.mu.Lock()
	defer s.mu.Unlock()
	if kind == data.Direct {
		return s.directs[data.NameOf(folder)]
	}
	if r := s.rooms[data.NameOf(folder)]; r != nil {
		return &r.feed
	}
	return nil
}

func roomPath(name string) string { return data.Rooms + "/" + data.Folder(name) }

func directPath(a, b string) string { return data.Direct + "/" + data.Folder(pairKey(a, b)) }
