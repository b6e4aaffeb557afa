package chat

import (
	"runtime"
	"time"
)

// A feed that is talked in rests before a batch: what comes meanwhile is one batch. The first
// message of it waits some milliseconds at most; one that comes after a pause does not wait, nor
// does one with which enough have come. There are two reasons to rest.
//
// Who was told a batch of several messages answers it as several do, in the same instant. The first
// of the answers waits for the others, until there are as many as last time: otherwise it would be
// synced alone, and all others would wait for two syncs. Where one is said after the other, a batch
// is of one, and nothing waits.
//
// In a large room the writes are nearly all that a message costs. It rests in proportion to its
// members, so that a member is written to once instead of several times: at 64 members and 500
// messages/s half as often. Options.Prompt has it not do so: there a message is told in a third of
// the time, for a third more CPU.
const (
	restStep    = 32 // seats for each millisecond of rest
	longestRest = 5  // milliseconds
	restFrom    = 16 // seats: below, writes cost less than waking up for them

	// The runtime waits in whole milliseconds, and another one for what is left: a rest is a little
	// longer than those, or it would be two waits and the longer.
	beyond = 50 * time.Microsecond
)

// rest is how long the first message waits, and until how many are pending. The caller holds the
// lock.
func (f *feed) rest() (long time.Duration, enough int) {
	n := len(f.seats)
	if n < restFrom || f.svc.opts().Prompt {
		return time.Millisecond + beyond, f.lately
	}
	return time.Duration(min((n+restStep-1)/restStep, longestRest))*time.Millisecond + beyond, max(f.lately, n/8+1)
}

// rests says whether the feed is to wait before what is pending goes on its way, and sees to it
// that it does then. The caller holds the lock.
func (f *feed) rests() bool {
	long, enough := f.rest()
	if f.stateless || len(f.pending) >= enough {
		return false
	}
	now := time.Now()
	if f.until.IsZero() {
		if now.Sub(f.told) > 2*long {
			return false
		}
		f.until = now.Add(long)
	}
	left := f.until.Sub(now)
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

// rise ends a rest. It yields to who commits: the runtime's watchdog, which otherwise looks after a
// thread that syncs every 70 us, wakes a fifth as often then.
func (f *feed) rise() {
	if f.svc.locked(f.wake) {
		runtime.Gosched()
	}
}

// wake sends what is pending on its way. The caller holds the lock.
func (f *feed) wake() {
	if f.armed = false; len(f.pending) > 0 && !f.svc.over {
		f.svc.wants(f)
	}
}
