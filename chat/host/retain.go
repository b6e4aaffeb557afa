package host

import (
	"context"
	"sync/atomic"
	"time"

	"weir/chat"
)

// Two loops remove old messages: one by age, one by size. Both run at the start, at intervals, and
// when the configuration changes.

const (
	sizesEvery    = 5 * time.Minute
	agesAtLeast   = 15 * time.Second // a quarter of the smallest age limit
	agesAtMost    = time.Hour
	neverRetained = 24 * time.Hour // interval without a limit
)

// retentionCounts counts what retention removed.
type retentionCounts struct {
	// bytes of rooms, bytes of direct conversations, logs that failed
	rooms, directs, failures atomic.Int64
}

// ages returns the age limits and the interval of their loop: a quarter of the smallest one.
func (r Retention) ages() (rooms, directs chat.Retention, every time.Duration) {
	rooms.Age, directs.Age = r.RoomAge.Std(), r.DirectAge.Std()
	every = neverRetained
	for _, age := range []time.Duration{rooms.Age, directs.Age} {
		if age > 0 {
			every = min(every, max(age/4, agesAtLeast), agesAtMost)
		}
	}
	return rooms, directs, every
}

// sizes returns the size limits and the interval of their loop.
func (r Retention) sizes() (rooms, directs chat.Retention, every time.Duration) {
	rooms.Bytes, directs.Bytes = int64(r.RoomBytes), int64(r.DirectBytes)
	if rooms.Bytes+directs.Bytes == 0 {
		return rooms, directs, neverRetained
	}
	return rooms, directs, sizesEvery
}

// retain removes old messages at intervals until ctx ends. A value on again starts a run at once.
func (h *Host) retain(ctx context.Context, limits func(Retention) (rooms, directs chat.Retention, every time.Duration), again <-chan struct{}) {
	for {
		rooms, directs, every := limits(h.Config().Retention)
		if rooms != (chat.Retention{}) || directs != (chat.Retention{}) {
			if err := h.chat.Retain(ctx, rooms, directs, h.removed); err != nil && ctx.Err() == nil {
				h.retention.failures.Add(1)
				h.log.Error("old messages could not be removed", "error", err)
			}
		}
		timer := time.NewTimer(every)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		case <-again:
			timer.Stop()
		}
	}
}

// removed counts and logs the result of one log.
func (h *Host) removed(r chat.Retained) {
	count := &h.retention.rooms
	if r.Direct {
		count = &h.retention.directs
	}
	count.Add(r.Bytes)
	if r.Bytes > 0 {
		h.log.Info("old messages were removed", "log", r.Log, "bytes", r.Bytes)
	}
	if r.Err != nil {
		h.retention.failures.Add(1)
		h.log.Error("old messages could not be removed", "log", r.Log, "error", r.Err)
	}
}

// retainNow starts a run of both loops.
func (h *Host) retainNow() {
	for _, again := range h.retainSignals {
		select {
		case again <- struct{}{}:
		default: // a run is already due
		}
	}
}
