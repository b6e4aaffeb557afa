package chat

import (
	"errors"
	"slices"

	"weir/chat/log"
)

// The commit task of a conversation stores and delivers its pending posts, batch by batch.
// conversation.go shows when it starts. A conversation has one at most, so its batches are in
// order. A batch takes these steps:
//
//  1. commitBatch takes the pending posts and writes the room's state file if it changes. Then it
//     appends the lines to the log by one write and one fsync. So a topic is on disk both as state
//     and as line before any client receives it.
//  2. deliver sends the batch to all subscribers: see deliver.go.
//  3. If more posts are pending, the task waits for its next turn behind other conversations.
//
// One worker runs both jobs of a batch, because at some hundred messages per second waking up
// another goroutine costs more than it frees.

var errStopping = errors.New("the server is stopping")

// startCommitLocked starts the commit task. The caller holds mu.
func (f *conversation) startCommitLocked() {
	f.committing = true
	f.svc.startTaskLocked(commitJobs, f.commit, f.failCommitLocked)
}

// commit is the commit task.
func (f *conversation) commit(t *task) {
	for again := true; again; {
		t.awaitTurn()
		f.commitBatch(t)
		f.deliver(t)
		again = len(f.pending) > 0 && f.canCommitLocked()
	}
	f.committing = false
	f.idleWaiters.wakeLocked()
}

// commitBatch stores the pending posts: first the room's state file (see change.go), then the log
// lines.
func (f *conversation) commitBatch(t *task) {
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

// failCommitLocked finishes the posts of a conversation whose commit task has panicked or was
// stopped. The caller holds mu.
func (f *conversation) failCommitLocked(reason error) {
	f.svc.fixed.Log.Error("messages were lost before they were acknowledged, or not delivered to all", "log", f.logID, "error", reason)
	posts := slices.Concat(f.changePosts, f.batchPosts, f.pending)
	stored := 0
	if f.delivery != nil { // interrupted
		stored = len(f.batchPosts)
		f.recordReceiversLocked(f.delivery)
	}
	f.changePosts, f.batchPosts, f.pending = nil, nil, nil
	f.committing = false
	f.idleWaiters.wakeLocked()
	f.reportRefusedLocked(posts[stored:], reason)
	f.finishPostsLocked(posts)
}

// reportRefusedLocked notifies the senders of posts that these were not stored. The caller holds
// mu.
func (f *conversation) reportRefusedLocked(posts []post, reason error) {
	f.svc.counts.NotStored += int64(len(posts))
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
