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
//  3. The conversation enters the commit net (scheduleLocked, unlockAndCommit). The net is a queue
//     of conversations with a few goroutines that run its one stage, the commit stage. A
//     conversation is in the net at most once, so its messages have one order.
//  4. The stage takes all pending posts as a batch and stores it by one fsync (commit.go).
//  5. The stage then delivers the batch: it writes the lines to the session of each live
//     subscription (deliver.go). If more posts are pending, the conversation enters the net again.

// conversation is a sequence of messages with a log: a room, or the direct messages of two
// accounts.
type conversation struct {
	svc      *Service
	name     string           // name of the room; of a direct conversation, both accounts
	logID    string           // the log's id, under which read markers are stored
	self     [1]*conversation // the conversation itself, as the batch that Net.Put takes
	log      *log.Log
	room     *room     // nil: direct conversation
	accounts [2]string // folded accounts of a direct conversation

	// Guarded by Service.mu.
	subscriptions   []*subscription
	pending         []post      // posts for the next batch
	inCommitNet     bool        // it waits in the commit net, or the commit stage runs it
	deliveredOffset int64       // log offset up to which messages have been delivered
	stateDirty      bool        // the state file lags behind the room's state
	renaming        bool        // it is being renamed: pending posts wait
	delivery        *delivery   // by which the stage is writing a batch to subscribers; nil: none
	deliveryWaiters taskQueue   // tasks that wait for the end of the delivery
	idleWaiters     taskQueue   // tasks that wait until the conversation is idle
	indexedOffset   int64       // log offset up to which the search index is current
	lastUsed        time.Time   // when it was opened, or the last subscriber left
	lastDeliveryAt  time.Time   // start of the last delivery
	windowEnd       time.Time   // end of the coalescing window; zero: none is open
	lastBatchSize   int         // number of posts of the last delivery
	windowTimer     *time.Timer // calls endWindow; nil: never needed so far
	windowTimerRuns bool        // windowTimer is running

	// Owned by the commit stage: only its call that runs the conversation uses them.

	// Posts of the current batch. When the room's changes have been stored or refused, storeChanges
	// moves posts that the log does not get to changePosts.
	batchPosts  []post
	changePosts []post      // changes of the current batch that have no log line, or were refused
	entries     []log.Entry // lines of batchPosts, for the log
	batch       log.Batch   // lines of batchPosts as stored
	batchErr    error       // why the log refused the batch; nil: stored
	batchStamp  uint64      // number of the batch's delivery, unique in the service; see deliver.go
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

// putLocked adds posts to the next batch. The caller holds mu and releases it by
// Service.unlockAndCommit.
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
			f.svc.counters.messages.Add(1)
		}
	}
}

// scheduleLocked adds a conversation to those that unlockAndCommit puts into the commit net. It
// does nothing if the conversation is in the net already, is being renamed, or must wait for the
// end of its coalescing window. The caller holds mu.
func (s *Service) scheduleLocked(f *conversation) {
	if !f.inCommitNet && !f.renaming && !f.awaitsWindowLocked() {
		f.inCommitNet, f.windowEnd = true, time.Time{}
		s.toCommit = append(s.toCommit, f)
	}
}

// withLock calls f under mu. It reports whether f scheduled conversations, which are then in the
// commit net. The lock is released even if f panics.
func (s *Service) withLock(f func()) (committed bool) {
	s.mu.Lock()
	defer func() { committed = s.unlockAndCommit() }()
	f()
	return false
}

// unlockAndCommit lets ready tasks continue and releases mu. Then it puts the scheduled
// conversations into the commit net and the jobs of tasks into the worker pools. It reports whether
// conversations were scheduled. Put does not block: the queues have room for all.
func (s *Service) unlockAndCommit() (committed bool) { return s.unlockAndPut(s.commitNet.Put) }

// unlockAndPut is unlockAndCommit with a function that puts conversations into the commit net, and
// reports whether there were any. The function returns how many it accepted: none when the net has
// stopped. Their posts are then refused.
func (s *Service) unlockAndPut(put func([]*conversation) int) (committed bool) {
	for len(s.readyTasks) > 0 {
		next := s.readyTasks[0]
		s.readyTasks = s.readyTasks[1:]
		s.continueTaskLocked(next)
	}
	jobs := s.jobs
	s.jobs = nil
	var few [4]*conversation
	scheduled := append(few[:0], s.toCommit...)
	s.toCommit = s.toCommit[:0]
	s.mu.Unlock()
	for _, f := range scheduled {
		if put(f.self[:]) == 0 {
			s.failConversation(f, errStopping)
		}
	}
	s.putJobs(jobs)
	return len(scheduled) > 0
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
			f.lastUsed = f.svc.fixed.Now()
			return
		}
	}
}

// idleTimeout is how long a conversation without subscribers stays open.
const idleTimeout = time.Minute

// closeIdle closes conversations that have been idle for idleTimeout, because the log of each has
// three open files. It is a task.
func (s *Service) closeIdle(t *task) {
	s.opening.lock(t)
	defer s.opening.unlock()
	var idle []*conversation
	before := s.fixed.Now().Add(-idleTimeout)
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
		if err := f.log.Close(); err != nil {
			f.svc.fixed.Log.Error("a log cannot be closed", "log", f.logID, "error", err)
		}
		f.svc.removeFolderIfUnused(f.log, path)
	})
}

// isIdleLocked reports whether a conversation has neither subscribers nor work, and was last used
// before the given time. The caller holds mu.
func (f *conversation) isIdleLocked(before time.Time) bool {
	return len(f.subscriptions) == 0 && len(f.pending) == 0 && !f.inCommitNet && !f.stateDirty && f.lastUsed.Before(before)
}
