package chat

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"weir/chat/data"
	"weir/chat/search"
)

// The index for searching is kept while the service runs, by a goroutine of its own: what is said
// waits for it nowhere. It works in batches with rests between them, so that a busy server keeps
// its processors. A search reads the end of the logs that the index does not have yet, so that a
// message is found as soon as it is seen.

// followEvery is how soon the index is looked after when something was said or redacted. Tests are
// in a hurry.
var followEvery = 5 * time.Second

// reviewEvery is how often all rooms are looked at, also those that nobody is in.
const reviewEvery = 10 * time.Minute

// How long the index rests after a batch, as a multiple of what the batch took. A server that
// delivers busyRate lines a second or more is busy: there, the index has a fiftieth of one
// processor.
const (
	restBusy  = 49
	restQuiet = 1
	busyRate  = 1000
)

var errNoIndex = errors.New("there is no index for searching")

// searchIndex is the index, which is opened when it is first needed. It waits for the disk, and
// must not be called with mu.
func (s *Service) searchIndex() (*search.Index, error) {
	s.indexing.Lock()
	defer s.indexing.Unlock()
	if s.index == nil {
		x, err := search.Open(s.life, s.dir)
		if err != nil {
			return nil, errors.Join(errNoIndex, err)
		}
		x.Rest = s.indexRest()
		s.index = x
	}
	return s.index, nil
}

// indexRest returns how long the index rests after a batch. It is called by one goroutine at a
// time.
func (s *Service) indexRest() func(took time.Duration) time.Duration {
	var last int64
	var asked time.Time
	return func(took time.Duration) time.Duration {
		now, sent := time.Now(), s.counts.deliveries.Load()
		since := max(now.Sub(asked), time.Millisecond)
		busy := float64(sent-last) >= busyRate*since.Seconds()
		last, asked = sent, now
		if busy {
			return restBusy * took
		}
		return restQuiet * took
	}
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
		for more := err == nil; more && err == nil; {
			if time.Since(reviewed) >= reviewEvery {
				if err = s.review(ctx, x); err == nil {
					reviewed = time.Now()
				}
			} else {
				err = s.follow(ctx, x)
			}
			more = s.indexIsLate()
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

// review has the index look at all rooms.
func (s *Service) review(ctx context.Context, x *search.Index) error {
	late, err := x.Review(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setLate(late)
	s.indexReviewed = s.indexReviewed || err == nil
	return err
}

// follow has the index take a batch of each conversation that it is behind in.
func (s *Service) follow(ctx context.Context, x *search.Index) error {
	type moved struct {
		path string
		to   int64
	}
	was := map[*feed]moved{}
	s.mu.Lock()
	rooms := s.unindexed()
	for _, f := range s.feeds() {
		was[f] = moved{f.path(), f.delivered}
	}
	s.mu.Unlock()
	if len(rooms) == 0 {
		return nil
	}
	late, err := x.Follow(ctx, rooms)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		late = rooms
	}
	s.setLate(late)
	for f, m := range was {
		if _, late := s.indexLate[m.path]; !late && f.path() == m.path {
			f.indexed = max(f.indexed, m.to)
		}
	}
	return err
}

// setLate sets what the index has not caught up with. The caller holds the lock.
func (s *Service) setLate(rooms []data.Room) {
	s.indexLate = make(map[string]data.Room, len(rooms))
	for _, r := range rooms {
		s.indexLate[r.Path] = r
	}
}

func (s *Service) indexIsLate() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.indexLate) > 0
}

// unindexed are the conversations in which the index may not have everything. The caller holds the
// lock.
func (s *Service) unindexed() (rooms []data.Room) {
	for _, f := range s.feeds() {
		if path := f.path(); f.indexed < f.delivered && s.indexLate[path].Path == "" {
			rooms = append(rooms, data.Room{Name: f.name, Path: path, Direct: f.room == nil})
		}
	}
	for _, r := range s.indexLate {
		rooms = append(rooms, r)
	}
	return rooms
}

// searchedByLine are those of some conversations of which a search has to read the log's end, by
// path.
func (s *Service) searchedByLine(mine map[string]bool) (rooms []data.Room) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.indexReviewed {
		return slices.DeleteFunc(s.unindexed(), func(r data.Room) bool { return !mine[r.Path] })
	}
	for path := range mine { // nobody knows yet what was said before the service began
		kind, folder, _ := strings.Cut(path, "/")
		rooms = append(rooms, data.Room{Name: data.NameOf(folder), Path: path, Direct: kind == data.Direct})
	}
	return rooms
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
