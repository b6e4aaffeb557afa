package chat

import "time"

// A busy conversation opens a coalescing window before a batch: posts that arrive during the window
// form one batch. The first post waits for some milliseconds at most. A post does not wait after a
// pause, or when enough posts are pending. A window has two purposes.
//
// First, clients that receive a batch of several messages may all answer at the same instant. The
// first answer waits until as many posts are pending as the last batch had. Otherwise it would be
// synced alone, and all other answers would wait for two fsyncs. In a sequential exchange every
// batch has one message, so no post waits.
//
// Second, in a large room the writes to clients are nearly the whole cost of a message. The window
// grows with the number of members, so that each member is written to once instead of several
// times: half as often at 64 members and 500 messages/s. Options.NoCoalescing turns this off:
// messages arrive in a third of the time, for a third more CPU.
const (
	membersPerMillisecond = 32 // members for each millisecond of the window
	maxWindowMillis       = 5  // milliseconds
	largeRoomMembers      = 16 // members; in smaller rooms writes cost less than another wake-up

	// The Go runtime waits in whole milliseconds, and then again for the remainder. This margin
	// makes a window slightly longer than whole milliseconds, which avoids the second wait.
	windowMargin = 50 * time.Microsecond
)

// coalescingWindowLocked returns how long the first post waits at most, and the number of pending
// posts that ends the wait. The caller holds mu.
func (f *conversation) coalescingWindowLocked() (window time.Duration, enoughPosts int) {
	n := len(f.subscriptions)
	if n < largeRoomMembers || f.svc.options().NoCoalescing {
		return time.Millisecond + windowMargin, f.lastBatchSize
	}
	return time.Duration(min((n+membersPerMillisecond-1)/membersPerMillisecond, maxWindowMillis))*time.Millisecond + windowMargin, max(f.lastBatchSize, n/8+1)
}

// awaitsWindowLocked reports whether pending posts must wait for the end of a coalescing window,
// which it opens if necessary. The caller holds mu.
func (f *conversation) awaitsWindowLocked() bool {
	window, enoughPosts := f.coalescingWindowLocked()
	switch {
	case f.stateDirty || len(f.pending) >= enoughPosts:
		f.windowIsOpen = false
		return false
	case f.windowIsOpen:
		return true
	case f.svc.now.Sub(f.lastDeliveryAt) > 2*window:
		return false
	}
	f.windowIsOpen = true
	f.windows++
	opened := f.windows
	f.svc.afterLocked(window, func() {
		if f.windowIsOpen && f.windows == opened {
			f.endWindowLocked()
		}
	})
	return true
}

// endWindowLocked ends the coalescing window. The caller holds mu.
func (f *conversation) endWindowLocked() {
	f.windowIsOpen = false
	if len(f.pending) > 0 && !f.committing && !f.renaming {
		f.startCommitLocked()
	}
}
