package core

import (
	"errors"
	"slices"
	"strings"
	"time"

	"weir/chat/environment"
	"weir/chat/irc"
	"weir/chat/log"
)

// A message takes these steps from its sender to the other clients:
//
//  1. A command of a session makes a post and adds it to the pending posts of a conversation
//     (put). A post is a line for the log, or a change of the room, or both.
//  2. After a batch of several posts, pending posts wait until a coalescing window ends. This is a
//     time of some milliseconds in which further posts join the same batch.
//  3. The commit task of the conversation starts (schedule). A conversation has one at most,
//     so its messages have one order.
//  4. The task takes all pending posts as a batch and stores it by one fsync.
//  5. The task then delivers the batch: it writes the lines to the session of each live
//     subscription (deliver.go). If more posts are pending, it goes on with the next batch.

// conversation is a sequence of messages with a log: a room, or the direct messages of two
// accounts.
type conversation struct {
	svc      *Core
	name     string // name of the room; of a direct conversation, both accounts
	logID    string // the log's id, under which read markers are stored
	log      environment.Log
	room     *room     // nil: direct conversation
	accounts [2]string // folded accounts of a direct conversation

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
	sender    *Session
	label     string
	entry     log.Entry // log entry; an empty Body means no entry
	isMessage bool      // PRIVMSG, NOTICE or TAGMSG: the echo needs echo-message
	lastLine  bool      // last or only line of a message

	// applies a change to a draft of the room's settings; nil: no change. See change.go
	change  func(*draft)
	command string // command of a change, which a refusal names; "" for a message

	// onRefused is called if the log refuses the line. nil: the sender is sent a refusal.
	onRefused func()
}

// subscription is a session's state in a conversation: how far it has been sent.
type subscription struct {
	session      *Session
	conversation *conversation
	state        subscriptionState
	sentUpTo     int64 // log offset up to which everything was sent
	savedMarker  int64 // the stored read marker; -1: none yet
	hasGap       bool  // something before sentUpTo was not sent, because it could not be read
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

// put adds posts to the next batch.
//
// A session with undelivered posts may only send further messages to the same room
// (session.canRun), which keeps its replies in order. pendingTarget is that room. It is empty for a
// direct conversation: then the session waits. The last post decides: by that rule, earlier
// undelivered ones have the same target.
func (f *conversation) put(posts ...post) {
	target := ""
	if f.room != nil {
		target = irc.Fold(f.name)
	}
	for _, p := range posts {
		p.sender.pendingMessages++
		p.sender.pendingTarget = target
	}
	f.pending = append(f.pending, posts...)
	f.svc.schedule(f)
	for i := range posts {
		if posts[i].entry.Body != "" {
			f.svc.counts.Messages++
		}
	}
}

// schedule starts the commit task of a conversation, unless it has one or must wait.
func (s *Core) schedule(f *conversation) {
	if !f.committing && f.canCommit() {
		f.startCommit()
	}
}

// canCommit reports whether a batch may be committed: the conversation is not being renamed, and
// need not wait for the end of its coalescing window. It may open that window.
func (f *conversation) canCommit() bool {
	return !f.renaming && !f.awaitsWindow()
}

// subscriptionOf returns the session's subscription, or nil.
func (f *conversation) subscriptionOf(s *Session) *subscription {
	for _, sub := range f.subscriptions {
		if sub.session == s {
			return sub
		}
	}
	return nil
}

// unsubscribe ends a session's subscription, and stores its read marker.
func (f *conversation) unsubscribe(s *Session) {
	for i, sub := range f.subscriptions {
		if sub.session == s {
			f.svc.saveReadMarker(sub, ifWritten)
			subscriptionLife.move(&sub.state, unsubscribed)
			f.idleWaiters.wake()
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
func (s *Core) closeIdle(t *Task) {
	s.opening.lock(t)
	defer s.opening.unlock()
	var idle []*conversation
	before := s.now.Add(-idleTimeout)
	for key, r := range s.rooms {
		if r.joinsUnderWay == 0 && r.isIdle(before) {
			idle = append(idle, &r.conversation)
			delete(s.rooms, key)
		}
	}
	for key, f := range s.directs {
		if f.isIdle(before) {
			idle = append(idle, f)
			delete(s.directs, key)
		}
	}
	sortConversations(idle)
	for _, f := range idle {
		f.close(t)
	}
}

// sortConversations sorts conversations by name.
func sortConversations(all []*conversation) {
	slices.SortFunc(all, func(a, b *conversation) int { return strings.Compare(a.name, b.name) })
}

// close closes the log of a conversation, and removes the folder if nothing was ever stored there.
func (f *conversation) close(t *Task) {
	path := f.path()
	t.await(func() {
		if err := f.svc.env.Storage.CloseLog(path, f.log); err != nil {
			f.svc.fixed.Log.Error("a log cannot be closed", "log", f.logID, "error", err)
		}
	})
}

// isIdle reports whether a conversation has neither subscribers nor work, and was last used
// before the given time.
func (f *conversation) isIdle(before time.Time) bool {
	return len(f.subscriptions) == 0 && len(f.pending) == 0 && !f.committing && !f.stateDirty && f.lastUsed.Before(before)
}

// The commit task of a conversation stores and delivers its pending posts, batch by batch. A
// conversation has one at most, so its batches are in order. A batch takes these steps:
//
//  1. commitBatch takes the pending posts and writes the room's state file if it changes. Then it
//     appends the lines to the log by one write and one fsync. So a topic is on disk both as state
//     and as line before any client receives it.
//  2. deliver sends the batch to all subscribers: see deliver.go.
//  3. If more posts are pending, the task waits for its next turn behind other conversations.
//
// One worker runs both jobs of a batch, because at some hundred messages per second waking up
// another goroutine costs more than it frees.

var ErrStopping = errors.New("the server is stopping")

// startCommit starts the commit task.
func (f *conversation) startCommit() {
	f.committing = true
	f.svc.StartTask(CommitJobs, f.commit, f.failCommit)
}

// commit is the commit task.
func (f *conversation) commit(t *Task) {
	for again := true; again; {
		t.awaitTurn()
		f.commitBatch(t)
		f.deliver(t)
		again = len(f.pending) > 0 && f.canCommit()
	}
	f.committing = false
	f.idleWaiters.wake()
}

// commitBatch stores the pending posts: first the room's state file (see change.go), then the log
// lines.
func (f *conversation) commitBatch(t *Task) {
	f.batchPosts, f.pending = f.pending, f.batchPosts[:0]
	changes := f.stateDirty
	f.entries = f.entries[:0]
	for i := range f.batchPosts {
		changes = changes || f.batchPosts[i].change != nil
	}
	var d *draft
	if changes {
		d = f.storeChanges(t)
	}
	linesChange := false // a post with a line also changes the room
	for i := range f.batchPosts {
		f.entries = append(f.entries, f.batchPosts[i].entry)
		linesChange = linesChange || f.batchPosts[i].change != nil
	}
	f.batch, f.batchErr = log.Batch{}, nil
	if len(f.entries) > 0 {
		t.await(f.appendBatch)
	}
	if f.batchErr != nil && linesChange {
		d = f.revertChanges(t)
	}
	if d != nil {
		f.applyDraft(d)
	}
}

// newAppendJob returns the job that appends the current batch to the log.
func (f *conversation) newAppendJob() func() {
	return func() { f.batch, f.batchErr = f.log.Append(f.entries) }
}

// failCommit finishes the posts of a conversation whose commit task has panicked or was
// stopped.
func (f *conversation) failCommit(reason error) {
	f.svc.fixed.Log.Error("messages were lost before they were acknowledged, or not delivered to all", "log", f.logID, "error", reason)
	posts := slices.Concat(f.changePosts, f.batchPosts, f.pending)
	stored := 0
	if f.delivery != nil { // interrupted
		stored = len(f.batchPosts)
		f.recordReceivers(f.delivery)
	}
	f.changePosts, f.batchPosts, f.pending = nil, nil, nil
	f.committing = false
	f.idleWaiters.wake()
	f.reportRefused(posts[stored:], reason)
	f.finishPosts(posts)
}

// reportRefused notifies the senders of posts that these were not stored.
func (f *conversation) reportRefused(posts []post, reason error) {
	f.svc.counts.NotStored += int64(len(posts))
	for _, p := range posts {
		if p.onRefused != nil {
			p.onRefused()
		} else if p.lastLine {
			p.sender.conn.Send(p.sender.notStoredReply(f, p, reason))
		}
	}
}

// finishPosts counts posts as done, and wakes the sessions that wait for them.
func (f *conversation) finishPosts(posts []post) {
	for _, p := range posts {
		s := p.sender
		if s.pendingMessages--; s.pendingMessages == 0 && s.postWhenDelivered {
			s.postWhenDelivered = false
			s.conn.Post()
		}
	}
}

// Clients that receive a batch of several messages may all answer at the same instant. So before
// the next batch a busy conversation opens a coalescing window, in which the first answer waits
// until as many posts are pending as the last batch had. Otherwise it would be synced alone, and
// all other answers would wait for two fsyncs. The window lasts some milliseconds at most, and
// longer the more answers there are to come. A post does not wait after a pause, nor after a batch
// of one message: so none waits in a sequential exchange, or while messages come one by one.
const (
	answersPerMillisecond = 32 // posts of the last batch for each millisecond of the window
	maxWindowMillis       = 5  // milliseconds

	// The Go runtime waits in whole milliseconds, and then again for the remainder. This margin
	// makes a window slightly longer than whole milliseconds, which avoids the second wait.
	windowMargin = 50 * time.Microsecond
)

// coalescingWindow returns how long the first post waits at most.
func (f *conversation) coalescingWindow() time.Duration {
	millis := (f.lastBatchSize + answersPerMillisecond - 1) / answersPerMillisecond
	return time.Duration(min(millis, maxWindowMillis))*time.Millisecond + windowMargin
}

// awaitsWindow reports whether pending posts must wait for the end of a coalescing window,
// which it opens if necessary.
func (f *conversation) awaitsWindow() bool {
	window := f.coalescingWindow()
	switch {
	case f.stateDirty || len(f.pending) >= f.lastBatchSize:
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
	f.svc.after(window, func() {
		if f.windowIsOpen && f.windows == opened {
			f.endWindow()
		}
	})
	return true
}

// endWindow ends the coalescing window.
func (f *conversation) endWindow() {
	f.windowIsOpen = false
	if len(f.pending) > 0 && !f.committing && !f.renaming {
		f.startCommit()
	}
}

// WithLog calls a job with the log at a path, nil if it is not open. No log is opened or closed
// meanwhile. It is a task.
func (s *Core) WithLog(t *Task, path string, job func(open environment.Log, now time.Time)) {
	s.opening.lock(t)
	defer s.opening.unlock()
	f, now := s.conversationAt(path), s.now
	t.await(func() {
		if f == nil {
			job(nil, now)
		} else {
			job(f.log, now)
		}
	})
}
