package chat

import "time"

// A room rests after a delivery, in proportion to its members: what is said meanwhile is one batch, and one write a
// member instead of several. A message that comes to a room at rest waits a few milliseconds at most; one that comes after a while does
// not wait, nor does one when so many have come that the batch is worth it. At 64 members and 500 messages/s
// the writes, which are nearly all that a message costs, are a third fewer.
const (
	restPerSeat = 50 * time.Microsecond
	longestRest = 5 * time.Millisecond
	restFrom    = 16 // seats: below, writes cost less than waking up for them
)

// rests says whether the feed is to wait before what is pending goes on its way, and sees to it that it does then.
// The caller holds the lock.
func (f *feed) rests() bool {
	n := len(f.seats)
	if n < restFrom || f.stateless || len(f.pending) > n/8 {
		return false
	}
	left := min(time.Duration(n)*restPerSeat, longestRest) - time.Since(f.rested)
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
