package chat

import "time"

// A feed rests after a delivery: what is said meanwhile is one batch. A message that comes at rest waits a few milliseconds
// at most; one that comes after a while does not wait, nor does one with which enough have come. There are two reasons to rest.
//
// Who was told a batch of several messages answers it as several do, in the same instant. The first of the answers waits for the others,
// until there are as many as last time: otherwise it would be synced alone, and all others would wait for two syncs. Where one is said
// after the other, a batch is of one, and nothing waits.
//
// In a large room the writes are nearly all that a message costs. It rests in proportion to its members, so that a member
// is written to once instead of several times: at 64 members and 500 messages/s a third less often.
const (
	answersRest = time.Millisecond
	restPerSeat = 50 * time.Microsecond
	longestRest = 5 * time.Millisecond
	restFrom    = 16 // seats: below, writes cost less than waking up for them
)

// rest is for how long, and until how many are pending, the feed rests after a delivery. The caller holds the lock.
func (f *feed) rest() (long time.Duration, enough int) {
	n := len(f.seats)
	if n < restFrom {
		return answersRest, f.lately
	}
	return min(time.Duration(n)*restPerSeat, longestRest), max(f.lately, n/8+1)
}

// rests says whether the feed is to wait before what is pending goes on its way, and sees to it that it does then.
// The caller holds the lock.
func (f *feed) rests() bool {
	long, enough := f.rest()
	if f.stateless || len(f.pending) >= enough {
		return false
	}
	left := long - time.Since(f.rested)
	if left <= 0 {
		return false
	}
	if !f.armed {
		f.armed = true
		if f.alarm == nil {
			f.alarm = time.AfterFunc(left, f.rise) // ends by itself: it finds nothing pending
		} else {
			f.alarm.Reset(left)
		}
	}
	return true
}

// rise ends a rest.
func (f *feed) rise() {
	f.svc.locked(func() {
		if f.armed = false; len(f.pending) > 0 && !f.svc.over {
			f.svc.wants(f)
		}
	})
}
