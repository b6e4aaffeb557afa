package chat

import (
	"slices"
	"time"

	"weir/chat/irc"
	"weir/chat/log"
)

// A message takes these steps from its sender to the other clients:
//
//  1. A command of a session makes a post and adds it to the pending posts of a conversation
//     (putLocked). A post is a line for the log, or a change of the room, or both.
//  2. In a busy conversation, pending posts wait until its coalescing window ends. This is a time
//     of some milliseconds in which further posts join the same batch (coalesce.go).
//  3. The commit task of the conversation starts (scheduleLocked). A conversation has one at most,
//     so its messages have one order.
//  4. The task takes all pending posts as a batch and stores it by one fsync (commit.go).
//  5. The task then delivers the batch: it writes the lines to the session of each live
//     subscription (deliver.go). If more posts are pending, it goes on with the next batch.

// conversation is a sequence of messages with a log: a room, or the direct messages of two
// accounts.
type conversation struct {
	svc      *core
	name     string // name of the room; of a direct conversation, both accounts
	logID    string // the log's id, under which read markers are stored
	log      conversationLog
	room     *room     // nil: direct conversation
	accounts [2]string // folded accounts of a direct conversation

	// Guarded by Service.mu.
	subscriptions   []*subscription
	pending         []post    // posts for the next batch
	committing      bool      // it has a commit task
	deliveredOffset int64     // log offset up to which messages have been delivered
	stateDirty      bool      // the state file lags behind the room's state
	renaming        bool      // it is being renamed: pending posts wait
	delivery        *delivery // by which a batch is being written to subscribers; nil: none
	deliveryWaiters taskQueue // tasks that wait for the end of the delivery
	idleWaiters     taskQueue // tasks that wait until the conversation is idle
	indexedOffset   int64     // log offset up to which the search index is current
	lastUsed        time.Time // when it was opened, or the last subscriber left
	lastDeliveryAt  time.Time // start of the last delivery
	lastBatchSize   int       // number of posts of the last delivery
	windowIsOpen    bool      // a coalescing window is open
	windows         uint64    // number of coalescing windows so far

	// Owned by the commit task and its jobs.

	// Posts of the current batch. When the room's changes have been stored or refused, storeChanges
	// moves posts that the log does not get to changePosts.
	batchPosts  []post
	changePosts []post      // changes of the current batch that have no log line, or were refused
	entries     []log.Entry // lines of batchPosts, for the log
	batch       log.Batch   // lines of batchPosts as stored
	batchErr    error       // why the log refused the batch; nil: stored
	batchStamp  uint64      // number of the batch's delivery, unique in the service; see deliver.go
	appendBatch func()      // job that appends the batch to the log
}

// post is one line for the log and the subscribers, or a change of the room, or both.
type post struct {
	sender    *session
	label     string
	entry     log.Entry // log entry; an empty Body means no entry
	isMessage bool      // PRIVMSG, NOTICE or TAGMSG: the echo needs echo-message
	lastLine  bool      // last or only line of a message

	// applies a change to a draft of the room's settings, under mu; nil: no change. See change.go
	change  func(*draft)
	command string // command of a change, which a refusal names; "" for a message

	// onRefused is called under mu if the log refuses the line. nil: the sender is sent a refusal.
	onRefused func()
}

// subscription is a session's state in a conversation: how far it has been sent. Guarded by
// Service.mu.
type subscription struct {
	session      *session
	conversation *conversation
	state        subscriptionState
	sentUpTo     int64 // log offset up to which everything was sent
	savedMarker  int64 // the stored read marker; -1: none yet
}

// subscriptionState says whether a subscription's session receives batches that are delivered.
type subscriptionState uint8

const (
	// catchingUp: it does not. A task sends it older messages from the log first.
	catchingUp subscriptionState = iota
	// live: it receives every batch.
	live
	// unsubscribed: it has left. A delivery that started before may still send it a batch.
	unsubscribed
)

// maxPendingMessages limits the undelivered messages of a session.
const maxPendingMessages = 64

// putLocked adds posts to the next batch. The caller holds mu and releases it by Service.unlock.
//
// A session with undelivered posts may only send further messages to the same room
// (session.canRun), which keeps its replies in order. pendingTarget is that room. It is empty for a
// direct conversation: then the session waits. The last post decides: by that rule, earlier
// undelivered ones have the same target.
func (f *conversation) putLocked(posts ...post) {
	target := ""
	if f.room != nil {
		target = irc.Fold(f.name)
	}
	for _, p := range posts {
		p.sender.pendingMessages++
		p.sender.pendingTarget = target
	}
	f.pending = append(f.pending, posts...)
	f.svc.scheduleLocked(f)
	for i := range posts {
		if posts[i].entry.Body != "" {
			f.svc.counts.Messages++
		}
	}
}

// scheduleLocked starts the commit task of a conversation, unless it has one or must wait. The
// caller holds mu.
func (s *core) scheduleLocked(f *conversation) {
	if !f.committing && f.canCommitLocked() {
		f.startCommitLocked()
	}
}

// canCommitLocked reports whether a batch may be committed: the conversation is not being renamed,
// and need not wait for the end of its coalescing window. The caller holds mu.
func (f *conversation) canCommitLocked() bool {
	if f.renaming || f.awaitsWindowLocked() {
		return false
	}
	return true
}

// subscriptionOf returns the session's subscription, or nil.
func (f *conversation) subscriptionOf(s *session) *subscription {
	for _, sub := range f.subscriptions {
		if sub.session == s {
			return sub
		}
	}
	return nil
}

// unsubscribeLocked ends a session's subscription, and stores its read marker. The caller holds mu.
func (f *conversation) unsubscribeLocked(s *session) {
	for i, sub := range f.subscriptions {
		if sub.session == s {
			f.svc.saveReadMarkerLocked(sub, ifWritten)
			sub.state = unsubscribed
			f.idleWaiters.wakeLocked()
			f.subscriptions = slices.Delete(f.subscriptions, i, i+1)
			f.lastUsed = f.svc.now
			return
		}
	}
}

// idleTimeout is how long a conversation without subscribers stays open.
const idleTimeout = time.Minute

// closeIdle closes conversations that have been idle for idleTimeout, because the log of each has
// three open files. It is a task.
func (s *core) closeIdle(t *task) {
	s.opening.lock(t)
	defer s.opening.unlock()
	var idle []*conversation
	before := s.now.Add(-idleTimeout)
	for key, r := range s.rooms {
		if r.joinsUnderWay == 0 && r.isIdleLocked(before) {
			idle = append(idle, &r.conversation)
			delete(s.rooms, key)
		}
	}
	for key, f := range s.directs {
		if f.isIdleLocked(before) {
			idle = append(idle, f)
			delete(s.directs, key)
		}
	}
	for _, f := range idle {
		f.close(t)
	}
}

// close closes the log of a conversation, and removes the folder if nothing was ever stored there.
func (f *conversation) close(t *task) {
	path := f.pathLocked()
	t.await(func() {
		if err := f.svc.env.storage.CloseLog(path, f.log); err != nil {
			f.svc.fixed.Log.Error("a log cannot be closed", "log", f.logID, "error", err)
		}
	})
}

// isIdleLocked reports whether a conversation has neither subscribers nor work, and was last used
// before the given time. The caller holds mu.
func (f *conversation) isIdleLocked(before time.Time) bool {
	return len(f.subscriptions) == 0 && len(f.pending) == 0 && !f.committing && !f.stateDirty && f.lastUsed.Before(before)
}
