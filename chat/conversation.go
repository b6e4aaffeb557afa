package chat

import (
	"slices"
	"sync/atomic"
	"time"

	"weir/chat/irc"
	"weir/chat/log"
)

// conversation is a sequence of messages with a log: a room, or the direct messages of two
// accounts.
type conversation struct {
	svc      *Service
	name     string           // target in the log's lines; of direct ones, both accounts
	logID    string           // the log's id, under which read markers are stored
	self     [1]*conversation // the conversation itself, for Net.Put
	log      *log.Log
	room     *room     // nil: direct conversation
	accounts [2]string // folded accounts of a direct conversation

	// Guarded by Service.mu.
	subscriptions   []*subscription
	pending         []post      // posts for the next batch
	inCommitNet     bool        // it is in the commit net
	deliveredOffset int64       // log offset up to which messages have been delivered
	stateDirty      bool        // the state file lags behind the room's state
	renaming        bool        // it is being renamed: pending posts wait
	delivering      bool        // a delivery is writing to subscribers
	indexedOffset   int64       // log offset up to which the search index is current
	lastUsed        time.Time   // when it was opened, or the last subscriber left
	lastDeliveryAt  time.Time   // start of the last delivery
	windowEnd       time.Time   // end of the coalescing window; zero: none is open
	lastBatchSize   int         // number of posts of the last delivery
	windowTimer     *time.Timer // calls endWindow; nil: never needed so far
	windowTimerRuns bool        // windowTimer is running

	// Owned by the commit stage that has the conversation.
	entries []log.Entry
	// posts of the current batch; after commit, those with a log line
	batchPosts  []post
	changePosts []post // posts of the current batch that have no log line
	batch       log.Batch
	batchErr    error  // why the log refused the batch; nil: stored
	batchStamp  uint64 // Service.lastStamp of the delivery of the batch
}

// post is one line for the log and the subscribers, or a change of the room, or both.
type post struct {
	sender    *session
	label     string
	entry     log.Entry // log entry; an empty Body means no entry
	isMessage bool      // PRIVMSG, NOTICE or TAGMSG: the echo needs echo-message
	lastLine  bool      // last or only line of a message

	// applies a change of the room to a draft, under mu; nil: no change. See change.go
	change  func(*draft)
	command string // of a change: the command to name in a refusal

	// onRefused is called under mu if the log refuses the line. nil: the sender is sent a refusal.
	onRefused func()
}

// subscription is a session's state in a conversation: how far it has been sent.
type subscription struct {
	session      *session
	conversation *conversation
	state        subscriptionState // guarded by Service.mu
	sentUpTo     atomic.Int64      // log offset up to which everything was sent
	// the current batch has posts of the session; owned by the commit stage
	hasOwnPosts bool
	// the current batch has labeled posts of the session; owned by the commit stage
	hasLabeledPosts bool
	savedMarker     int64 // guarded by Service.mu: the stored read marker; -1: none yet
}

// subscriptionState says whether deliveries include a subscription.
type subscriptionState uint8

const (
	catchingUp   subscriptionState = iota // no: a worker sends what the session has missed
	live                                  // yes
	unsubscribed                          // no longer; a running delivery may still do so
)

// maxPendingMessages limits the undelivered messages of a session.
const maxPendingMessages = 64

// putLocked adds posts to the next batch. The caller holds mu and releases it by
// Service.unlockAndCommit.
func (f *conversation) putLocked(posts ...post) {
	for _, p := range posts {
		p.sender.pendingMessages.Add(1)
		if p.sender.pendingTarget = ""; f.room != nil {
			p.sender.pendingTarget = irc.Fold(f.name)
		}
	}
	f.pending = append(f.pending, posts...)
	f.svc.scheduleLocked(f)
	for i := range posts {
		if posts[i].entry.Body != "" {
			f.svc.counters.messages.Add(1)
		}
	}
}

// scheduleLocked queues a conversation that unlockAndCommit puts into the commit net, unless it
// must wait. The caller holds mu.
func (s *Service) scheduleLocked(f *conversation) {
	if !f.inCommitNet && !f.renaming && !f.awaitsWindowLocked() {
		f.inCommitNet, f.windowEnd = true, time.Time{}
		s.toCommit = append(s.toCommit, f)
	}
}

// withLock calls f under mu. It reports whether unlockAndCommit put conversations into the net. The
// lock is released if f panics.
func (s *Service) withLock(f func()) (committed bool) {
	s.mu.Lock()
	defer func() { committed = s.unlockAndCommit() }()
	f()
	return false
}

// unlockAndCommit releases mu and puts the scheduled conversations into the commit net. It reports
// whether there were any. Put does not block: the queue has room for every conversation.
func (s *Service) unlockAndCommit() (committed bool) { return s.unlockAndPut(s.commitNet.Put) }

// unlockAndPut is unlockAndCommit with another function that puts conversations into the net. It
// reports whether there were any.
func (s *Service) unlockAndPut(put func([]*conversation) int) (committed bool) {
	var few [4]*conversation
	start := append(few[:0], s.toCommit...)
	s.toCommit = s.toCommit[:0]
	s.mu.Unlock()
	for _, f := range start {
		if put(f.self[:]) == 0 { // the net has stopped
			s.failConversation(f, errStopping)
		}
	}
	return len(start) > 0
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

// unsubscribeLocked ends a session's subscription. The caller holds mu.
func (f *conversation) unsubscribeLocked(s *session) {
	for i, sub := range f.subscriptions {
		if sub.session == s {
			f.svc.saveReadMarkerLocked(sub, false)
			sub.state = unsubscribed
			f.subscriptions = slices.Delete(f.subscriptions, i, i+1)
			f.lastUsed = f.svc.fixed.Now()
			return
		}
	}
}

// idleTimeout is how long a conversation without subscribers stays open.
const idleTimeout = time.Minute

// closeIdle closes the logs of idle conversations, because each has three open files.
func (s *Service) closeIdle() {
	s.openMu.Lock()
	defer s.openMu.Unlock()
	var idle []*conversation
	s.mu.Lock()
	before := s.fixed.Now().Add(-idleTimeout)
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
	s.mu.Unlock()
	for _, f := range idle {
		if err := f.log.Close(); err != nil {
			s.fixed.Log.Error("a log cannot be closed", "log", f.logID, "error", err)
		}
		f.removeIfUnused()
	}
}

func (f *conversation) isIdle(before time.Time) bool {
	return len(f.subscriptions) == 0 && len(f.pending) == 0 && !f.inCommitNet && !f.stateDirty && f.lastUsed.Before(before)
}
