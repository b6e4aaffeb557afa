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

// The search index is maintained in the background by a goroutine of its own, so that no message
// waits for it. It indexes in batches with pauses between them, to leave the CPU to a busy server.
// A search also scans the ends of logs that are not yet indexed, so a message is found as soon as
// it is delivered.

// indexEvery is how often new and redacted messages are indexed. Tests shorten it.
var indexEvery = 5 * time.Second

// reviewEvery is how often all rooms are checked, including those that are not open.
const reviewEvery = 10 * time.Minute

// Pause of the indexer after a batch, as a multiple of the batch's duration. A server that delivers
// busyRate or more lines per second is busy: there the indexer uses a fiftieth of one CPU.
const (
	busyPauseFactor  = 49
	quietPauseFactor = 1
	busyRate         = 1000
)

var errNoIndex = errors.New("the search index cannot be opened")

// searchIndex returns the index, which it opens at the first call. It waits for the disk and must
// not be called under mu.
func (s *Service) searchIndex() (*search.Index, error) {
	s.indexMu.Lock()
	defer s.indexMu.Unlock()
	if s.index == nil {
		x, err := search.Open(s.ctx, s.dataDir)
		if err != nil {
			return nil, errors.Join(errNoIndex, err)
		}
		x.Pause = s.indexPauses()
		s.index = x
	}
	return s.index, nil
}

// searchTimeout is the time limit of one search.
const searchTimeout = 5 * time.Second

// Find implements messageSearcher.
func (s *Service) Find(q search.Query, o search.Options) (found []search.Result, took time.Duration, err error) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(s.ctx, searchTimeout)
	defer cancel()
	x, err := s.searchIndex()
	if err == nil {
		found, err = x.Find(ctx, q, o)
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) { // the database wraps the error differently
		err = errSearchTimeout
	}
	return found, time.Since(began), err
}

// indexPauses returns the function that computes the indexer's pauses. That function is called by
// one goroutine at a time.
func (s *Service) indexPauses() func(took time.Duration) time.Duration {
	var last int64
	var asked time.Time
	return func(took time.Duration) time.Duration {
		now, sent := time.Now(), s.Counts().Deliveries
		since := max(now.Sub(asked), time.Millisecond)
		busy := float64(sent-last) >= busyRate*since.Seconds()
		last, asked = sent, now
		if busy {
			return busyPauseFactor * took
		}
		return quietPauseFactor * took
	}
}

// runIndexer maintains the index until ctx ends.
func (s *Service) runIndexer(ctx context.Context) {
	tick := time.NewTicker(indexEvery)
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
				if err = s.reviewIndex(ctx, x); err == nil {
					reviewed = time.Now()
				}
			} else {
				err = s.followIndex(ctx, x)
			}
			more = s.isIndexBehind()
		}
		if ctx.Err() == nil {
			s.reportIndexError(err)
		}
	}
}

// reportIndexError logs an error of the index unless it is the same as last time.
func (s *Service) reportIndexError(err error) {
	s.indexMu.Lock()
	defer s.indexMu.Unlock()
	was := s.indexError
	if s.indexError = ""; err != nil {
		s.indexError = err.Error()
	}
	if s.indexError != "" && s.indexError != was {
		s.fixed.Log.Error("the search index cannot be updated", "error", err)
	}
}

// reviewIndex checks the index against all rooms.
func (s *Service) reviewIndex(ctx context.Context, x *search.Index) error {
	late, err := x.IndexAll(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setIndexBehindLocked(late)
	s.indexReviewed = s.indexReviewed || err == nil
	return err
}

// followIndex indexes a batch of each conversation that has messages not yet indexed.
func (s *Service) followIndex(ctx context.Context, x *search.Index) error {
	type moved struct {
		path string
		to   int64
	}
	was := map[*conversation]moved{}
	s.mu.Lock()
	rooms := s.unindexedLocked()
	for _, f := range s.openConversationsLocked() {
		was[f] = moved{f.pathLocked(), f.deliveredOffset}
	}
	s.mu.Unlock()
	if len(rooms) == 0 {
		return nil
	}
	late, err := x.IndexRooms(ctx, rooms)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		late = rooms
	}
	s.setIndexBehindLocked(late)
	for f, m := range was {
		if _, late := s.indexBehind[m.path]; !late && f.pathLocked() == m.path {
			f.indexedOffset = max(f.indexedOffset, m.to)
		}
	}
	return err
}

// setIndexBehindLocked sets the conversations that are not fully indexed. The caller holds mu.
func (s *core) setIndexBehindLocked(rooms []data.Room) {
	s.indexBehind = make(map[string]data.Room, len(rooms))
	for _, r := range rooms {
		s.indexBehind[r.Path] = r
	}
}

func (s *Service) isIndexBehind() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.indexBehind) > 0
}

// unindexedLocked returns the conversations that may not be fully indexed. The caller holds mu.
func (s *core) unindexedLocked() (rooms []data.Room) {
	for _, f := range s.openConversationsLocked() {
		if path := f.pathLocked(); f.indexedOffset < f.deliveredOffset && s.indexBehind[path].Path == "" {
			rooms = append(rooms, data.Room{Name: f.name, Path: path, Direct: f.room == nil})
		}
	}
	for _, r := range s.indexBehind {
		rooms = append(rooms, r)
	}
	return rooms
}

// conversationsToScanLocked returns those of the given conversations whose log end a search must
// scan, by path. The caller holds mu.
func (s *core) conversationsToScanLocked(paths map[string]bool) (rooms []data.Room) {
	if s.indexReviewed {
		return slices.DeleteFunc(s.unindexedLocked(), func(r data.Room) bool { return !paths[r.Path] })
	}
	for path := range paths { // the index has not yet been checked against the logs since the start
		kind, folder, _ := strings.Cut(path, "/")
		rooms = append(rooms, data.Room{Name: data.NameOf(folder), Path: path, Direct: kind == data.Direct})
	}
	return rooms
}

// pathLocked returns the path of the log's folder below the data directory. The caller holds mu.
func (f *conversation) pathLocked() string {
	if f.room != nil {
		return roomPath(f.name)
	}
	return directPath(f.accounts[0], f.accounts[1])
}

// conversationAtLocked returns the conversation at a path, nil if it is not open. The caller holds
// mu.
func (s *core) conversationAtLocked(path string) *conversation {
	kind, folder, _ := strings.Cut(path, "/")
	if kind == data.Direct {
		return s.directs[data.NameOf(folder)]
	}
	if r := s.rooms[data.NameOf(folder)]; r != nil {
		return &r.conversation
	}
	return nil
}

func roomPath(name string) string { return data.Rooms + "/" + data.Folder(name) }

func directPath(a, b string) string { return data.Direct + "/" + data.Folder(pairKey(a, b)) }
