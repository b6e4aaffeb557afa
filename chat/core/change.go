package core

import (
	"bytes"
	"slices"
)

// A change of a room is a post in the room's order, like a message: a MODE, a TOPIC, a new spelling
// of its name, or a change by an administrator. It is durable before it takes effect, and takes
// effect before any client is notified:
//
//  1. planChanges: the changes of a batch are applied one by one to a draft of the room's settings.
//  2. storeChanges: a job replaces the state file by the draft.
//  3. applyDraft: the draft becomes the room's settings, and the members are notified.
//
// If the file cannot be written, all changes of the batch are refused and leave no trace. Only the
// room's commit task changes its settings. So the settings are the same in steps 1 and 3. Members
// may join and leave between these steps.
//
// The posts of a batch are in two lists of the conversation: batchPosts are those that get a line
// in the log, changePosts those that do not. Before storeChanges has decided, all are in
// batchPosts.

// draft is the next state of a room.
type draft struct {
	settings
	name string
	// New ranks of members that are present. The ranks of members that are not stand in settings.
	memberRanks map[*user]string
	onApplied   []func() // called once the draft is in effect, in this order
}

func (r *room) draft() *draft {
	return &draft{settings: r.settings.clone(), name: r.name, memberRanks: map[*user]string{}}
}

// whenApplied adds a function that is called once the draft is in effect.
func (d *draft) whenApplied(f func()) { d.onApplied = append(d.onApplied, f) }

// ranksOf returns the ranks that a member has in the draft.
func (d *draft) ranksOf(m *member) string {
	if ranks, ok := d.memberRanks[m.user]; ok {
		return ranks
	}
	return m.ranks
}

// putChange enqueues a change of a room for a command of the session. Plan applies it to a
// draft and may be called twice. It gets a copy of the session that collects the replies, which are
// sent once the change is in effect.
func (s *Session) putChange(r *room, command string, plan func(to *Session, d *draft)) {
	to, label := s.replyCollector(), s.label
	r.put(post{sender: s, label: label, lastLine: true, command: command, change: func(d *draft) {
		to.replies = nil
		to.beginCommand(label)
		plan(to, d)
		d.whenApplied(func() {
			to.finishCommand()
			if len(to.replies) > 0 {
				s.conn.Send(to.replies) // if the client is gone or too slow, another write notices
			}
		})
	}})
	s.deferredReply = true
}

// sendChangeToRoom notifies the members of a room of a change. Asker is the session that requested
// it. Its own notification goes to to, which collects the replies to its command, and only if it is
// a member.
func (n *notification) sendChangeToRoom(r *room, asker, to *Session) {
	n.requester, n.skipRequester = asker, true
	n.sendToRoom(r)
	if r.members[to.user] != nil {
		n.requester, n.skipRequester = to, false
		n.sendTo(to)
	}
}

// storeChanges plans the changes of the current batch and stores them in the state file. It returns
// the draft, and moves the posts without a log line from batchPosts to changePosts. On failure it
// returns nil: it has refused and finished all changes of the batch.
func (f *conversation) storeChanges(t *Task) *draft {
	d, state := f.planChanges(f.batchPosts)
	var err error
	storage, path := f.svc.env.Storage, f.room.statePath()
	contains := false // the state file contains the refused change
	if state != nil {
		t.await(func() {
			if err = storage.ReplaceFile(path, state); err != nil {
				stored, readErr := storage.ReadFile(path)
				contains = readErr == nil && bytes.Equal(stored, state)
			}
		})
	}
	if err == nil {
		f.changePosts, f.batchPosts = movePosts(f.changePosts[:0], f.batchPosts, func(p post) bool { return !p.hasLogLine() })
		return d
	}
	f.svc.fixed.Log.Error("a room's state cannot be written", "log", f.logID, "error", err)
	// the file was renamed, and the fsync of its folder failed
	f.stateDirty = f.stateDirty || contains
	f.changePosts, f.batchPosts = movePosts(f.changePosts[:0], f.batchPosts, func(p post) bool { return p.change != nil })
	f.reportRefused(f.changePosts, err)
	f.finishChanges()
	return nil
}

// hasLogLine reports whether the post gets a line in the room's log. Of the changes, only those
// with a text for readers of the log, such as TOPIC, have one.
func (p *post) hasLogLine() bool { return p.entry.Body != "" }

// movePosts moves the posts that moves selects to the end of moved.
func movePosts(moved, posts []post, moves func(post) bool) (_, left []post) {
	for _, p := range posts {
		if moves(p) {
			moved = append(moved, p)
		}
	}
	return moved, slices.DeleteFunc(posts, moves)
}

// planChanges applies the changes of posts to a draft and returns it with its encoded state file.
// State is nil if the file is up to date.
func (f *conversation) planChanges(posts []post) (d *draft, state []byte) {
	d = f.room.draft()
	for _, p := range posts {
		if p.change != nil {
			p.change(d)
		}
	}
	server := f.svc.fixed.Name
	state = d.encodeState(server, d.name)
	if !f.stateDirty && bytes.Equal(state, f.room.encodeState(server, f.room.name)) {
		state = nil
	}
	return d, state
}

// retryStates schedules the rooms whose state file is dirty because the disk refused it. The
// periodic tasks call it: an immediate retry would use a whole CPU and flood the log while the disk
// is full.
func (s *Core) retryStates() {
	var dirty []*conversation
	for _, r := range s.rooms {
		if r.stateDirty {
			dirty = append(dirty, &r.conversation)
		}
	}
	sortConversations(dirty)
	for _, f := range dirty {
		s.schedule(f)
	}
}

// revertChanges is called when the log has refused the lines of batchPosts. It returns a draft with
// the changes of changePosts alone, which have no line, and stores it.
func (f *conversation) revertChanges(t *Task) *draft {
	d, _ := f.planChanges(f.changePosts)
	state, err := d.encodeState(f.svc.fixed.Name, d.name), error(nil)
	path := f.room.statePath()
	t.await(func() { err = f.svc.env.Storage.ReplaceFile(path, state) })
	if err != nil {
		f.svc.fixed.Log.Error("a room's state file has a change that its log refused", "log", f.logID, "error", err)
		d.whenApplied(func() { f.stateDirty = true })
	}
	return d
}

// applyDraft makes the draft the current state of the room and notifies the members.
func (f *conversation) applyDraft(d *draft) {
	r := f.room
	r.settings, r.name, f.stateDirty = d.settings, d.name, false
	for u, ranks := range d.memberRanks {
		if m := r.members[u]; m != nil {
			m.ranks = ranks
		}
	}
	for _, f := range d.onApplied {
		f()
	}
	f.finishChanges()
}

// finishChanges finishes and removes changePosts: the changes that need no log line, or that
// were refused.
func (f *conversation) finishChanges() {
	f.finishPosts(f.changePosts)
	clear(f.changePosts)
	f.changePosts = f.changePosts[:0]
}
