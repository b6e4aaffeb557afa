package host

import (
	"context"
	"sync/atomic"
	"time"

	"weir/chat"
)

// Old messages are removed by two loops: one looks for those over an age, one for logs over a size.
// Both begin at the start, and again when the configuration changes.

const (
	sizesEvery    = 5 * time.Minute
	agesAtLeast   = 15 * time.Second // a quarter of the least age
	agesAtMost    = time.Hour
	neverRetained = 24 * time.Hour // while there is no limit
)

// retained counts what was removed.
type retained struct {
	rooms, directs, failures atomic.Int64 // bytes, and logs
}

// ages and sizes are the limits of each loop, and how often it looks: at least at every quarter of
// an age.
func (r Retention) ages() (rooms, directs chat.Retention, every time.Duration) {
	rooms.Age, directs.Age = r.RoomAge.Long(), r.DirectAge.Long()
	every = neverRetained
	for _, age := range []time.Duration{rooms.Age, directs.Age} {
		if age > 0 {
			every = min(every, max(age/4, agesAtLeast), agesAtMost)
		}
	}
	return rooms, directs, every
}

func (r Retention) sizes() (rooms, directs chat.Retention, every time.Duration) {
	rooms.Bytes, directs.Bytes = int64(r.RoomBytes), int64(r.DirectBytes)
	if rooms.Bytes+directs.Bytes == 0 {
		return rooms, directs, neverRetained
	}
	return rooms, directs, sizesEvery
}

// retain removes old messages, again and again until ctx ends. A value on again has it look at
// once.
func (h *Host) retain(ctx context.Context, limits func(Retention) (rooms, directs chat.Retention, every time.Duration), again <-chan struct{}) {
	for {
		rooms, directs, every := limits(h.Config().Retention)
		if rooms != (chat.Retention{}) || directs != (chat.Retention{}) {
			if err := h.chat.Retain(ctx, rooms, directs, h.removed); err != nil && ctx.Err() == nil {
				h.retained.failures.Add(1)
				h.log.Error("old messages cannot be removed", "error", err)
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

// removed counts and logs what was removed of a log.
func (h *Host) removed(r chat.Retained) {
	count := &h.retained.rooms
	if r.Direct {
		count = &h.retained.directs
	}
	count.Add(r.Bytes)
	if r.Bytes > 0 {
		h.log.Info("old messages were removed", "log", r.Log, "bytes", r.Bytes)
	}
	if r.Err != nil {
		h.retained.failures.Add(1)
		h.log.Error("old messages cannot be removed", "log", r.Log, "error", r.Err)
	}
}

// looks has both loops of retain look again.
func (h *Host) looks() {
	for _, again := range h.again {
		select {
		case again <- struct{}{}:
		default: // it is about to
		}
	}
}
