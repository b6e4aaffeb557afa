package chat

import (
	"errors"
	"slices"
	"time"

	"weir/chat/log"
	"weir/flow"
)

// The commit net is a queue of conversations with pending posts, and goroutines that run its one
// stage for four of them at once. conversation.go shows how a conversation gets there. It is in the
// net at most once, so its batches are in order. The stage has three steps:
//
//  1. commit takes the pending posts and writes the room's state file if it changes. Then it
//     appends the lines to the log by one write and one fsync. So a topic is on disk both as state
//     and as line before any client receives it.
//  2. deliver sends the batch to all subscribers: see deliver.go.
//  3. requeue puts the conversation back if more posts are pending.
//
// Commit and delivery share one stage, because at some hundred messages per second waking up
// another goroutine costs more than it frees.

var errStopping = errors.New("the server is stopping")

// commitAndDeliver is the stage of the commit net.
func (s *Service) commitAndDeliver(f *conversation, out *flow.Out[*conversation]) {
	s.commit(f)
	d := s.deliveryPool.Get().(*delivery)
	s.deliver(f, d)
	s.requeue(f, d, out)
	s.deliveryPool.Put(d)
}

// commit stores the pending posts: first the room's state file (see change.go), then the log lines.
func (s *Service) commit(f *conversation) {
	s.mu.Lock()
	f.batchPosts, f.pending = f.pending, f.batchPosts[:0]
	changes := f.stateDirty
	s.mu.Unlock()
	f.entries = f.entries[:0]
	for i := range f.batchPosts {
		changes = changes || f.batchPosts[i].change != nil
	}
	var d *draft
	if changes {
		d = f.storeChanges()
	}
	linesChange := false // a post with a line also changes the room
	for i := range f.batchPosts {
		f.entries = append(f.entries, f.batchPosts[i].entry)
		linesChange = linesChange || f.batchPosts[i].change != nil
	}
	f.batch, f.batchErr = log.Batch{}, nil
	if len(f.entries) > 0 {
		began := time.Now()
		f.batch, f.batchErr = f.log.Append(f.entries)
		s.fixed.OnCommit(time.Since(began), f.batchErr)
	}
	if f.batchErr != nil && linesChange {
		d = f.revertChanges()
	}
	if d != nil {
		f.applyDraft(d)
	}
}

// failConversation finishes the posts of a conversation that dropped out of the net because a stage
// panicked or the service stops.
func (s *Service) failConversation(f *conversation, reason error) {
	s.fixed.Log.Error("messages were lost before they were acknowledged, or not delivered to all", "log", f.logID, "error", reason)
	s.mu.Lock()
	defer s.unlockAndCommit()
	posts := slices.Concat(f.changePosts, f.batchPosts, f.pending)
	stored := 0
	if f.delivery != nil { // interrupted
		stored = len(f.batchPosts)
		f.recordReceiversLocked(f.delivery)
	}
	f.changePosts, f.batchPosts, f.pending = nil, nil, nil
	f.inCommitNet = false
	f.idleWaiters.wakeLocked()
	f.reportRefusedLocked(posts[stored:], reason)
	f.finishPostsLocked(posts)
}

// reportRefusedLocked notifies the senders of posts that these were not stored. The caller holds
// mu.
func (f *conversation) reportRefusedLocked(posts []post, reason error) {
	f.svc.counters.notStored.Add(int64(len(posts)))
	for _, p := range posts {
		if p.onRefused != nil {
			p.onRefused()
		} else if p.lastLine {
			p.sender.conn.Send(p.sender.notStoredReply(f, p, reason))
		}
	}
}

// finishPostsLocked counts posts as done, and wakes the sessions that wait for them. The caller
// holds mu.
func (f *conversation) finishPostsLocked(posts []post) {
	for _, p := range posts {
		s := p.sender
		if s.pendingMessages--; s.pendingMessages == 0 && s.postWhenDelivered {
			s.postWhenDelivered = false
			s.conn.Post()
		}
	}
}
