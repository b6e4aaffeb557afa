package chat

import (
	"context"
	"errors"
	"time"

	"weir/chat/core"
	"weir/chat/data"
	"weir/chat/environment"
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
		x.Pause = indexPauses(func() int64 { return s.Counts().Deliveries })
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
		err = environment.ErrSearchTimeout
	}
	return found, time.Since(began), err
}

// indexPauses returns the function that computes the indexer's pauses from the number of
// deliveries. That function is called by one goroutine at a time.
func indexPauses(deliveries func() int64) func(took time.Duration) time.Duration {
	var last int64
	var asked time.Time
	return func(took time.Duration) time.Duration {
		now, sent := time.Now(), deliveries()
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
			more = s.hasIndexWork()
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
		s.opened.Log.Error("the search index cannot be updated", "error", err)
	}
}

// reviewIndex checks the index against all rooms.
func (s *Service) reviewIndex(ctx context.Context, x *search.Index) error {
	late, err := x.IndexAll(ctx)
	s.withLock(func() { s.core.RecordIndexReview(late, err == nil) })
	return err
}

// followIndex indexes a batch of each conversation that has messages not yet indexed.
func (s *Service) followIndex(ctx context.Context, x *search.Index) error {
	var rooms []data.Room
	var at core.IndexProgress
	s.withLock(func() { rooms, at = s.core.Unindexed() })
	if len(rooms) == 0 {
		return nil
	}
	late, err := x.IndexRooms(ctx, rooms)
	if err != nil {
		late = rooms
	}
	s.withLock(func() { s.core.RecordIndexed(at, late) })
	return err
}

func (s *Service) hasIndexWork() (behind bool) {
	s.withLock(func() { behind = s.core.IsIndexBehind() })
	return behind
}
