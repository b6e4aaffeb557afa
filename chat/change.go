package chat

import (
	"bytes"
	"os"
	"slices"

	"weir/internal/durable"
)

// A change of a room (MODE, TOPIC, a new spelling of its name, what an administrator changes) is a
// post in the room's one order, as a message is. It is durable before it holds, and holds before
// anybody is shown it:
//
//  1. plan: under the lock, the changes of a batch are made to a draft of the room's settings, one
//     after the other.
//  2. The draft replaces the state file, without the lock.
//  3. hold: under the lock, the draft becomes the room's settings, and those concerned are told.
//
// If the file cannot be written, all changes of the batch are refused, and nothing of them is left.
// Only the stage that has the feed changes settings, so they are the same in 1 and 3; members come
// and go.

// draft is what a room is to be.
type draft struct {
	settings
	name    string
	members map[*user]string // the ranks that members are to have
	then    []func()         // called once it holds, under the lock, in this order
}

func (r *room) draft() *draft {
	return &draft{settings: r.settings.clone(), name: r.name, members: map[*user]string{}}
}

// once has f called under the lock once the draft holds.
func (d *draft) once(f func()) { d.then = append(d.then, f) }

// ranksOf are the ranks of a member.
func (d *draft) ranksOf(m *member) string {
	if ranks, ok := d.members[m.user]; ok {
		return ranks
	}
	return m.ranks
}

// change puts a change of a room on its way, for a command of the session. Plan makes it, and may
// be called twice: on a copy of the session that collects the replies, which the client is sent
// when the change holds. The caller holds the lock.
func (s *session) change(r *room, command string, plan func(to *session, d *draft)) {
	to, label := s.standIn(), s.label
	r.put(post{from: s, label: label, last: true, command: command, change: func(d *draft) {
		to.out = nil
		to.begin(label)
		plan(to, d)
		d.once(func() {
			to.finish()
			if len(to.out) > 0 {
				s.conn.Send(to.out) // who is gone, or takes nothing, is found out by others
			}
		})
	}})
	s.later = true
}

// tellChange tells a room of a change: asker is who asked for it, whose replies to collects.
func (n *news) tellChange(r *room, asker, to *session) {
	n.by, n.quiet = asker, true
	n.toRoom(r)
	if r.members[to.user] != nil {
		n.by, n.quiet = to, false
		n.tell(to)
	}
}

// changeRoom plans the changes of the batch that was taken, and has the disk take them. It returns
// the draft, nil if there is none: then those who wanted changes were told so, and their posts are
// out of the batch. Those without a line for the log go from taken to changes.
func (f *feed) changeRoom() *draft {
	d, state := f.plan(f.taken)
	var err error
	if state != nil {
		err = durable.ReplaceFile(f.room.path, state, 0o600)
	}
	if err == nil {
		f.changes, f.taken = split(f.changes[:0], f.taken, func(p post) bool { return p.entry.Body == "" })
		return d
	}
	f.svc.o.Log.Error("a room's state cannot be written", "log", f.key, "error", err)
	f.distrust(state)
	f.changes, f.taken = split(f.changes[:0], f.taken, func(p post) bool { return p.change != nil })
	f.refuse(f.changes, err)
	f.settleChanges()
	return nil
}

// distrust marks the state file as behind if it contains the change that was refused. That happens
// where the file was renamed and its folder could not be synced.
func (f *feed) distrust(refused []byte) {
	if there, err := os.ReadFile(f.room.path); err == nil && bytes.Equal(there, refused) {
		f.svc.locked(func() { f.stateless = true })
	}
}

// split moves what is to move to the end of moved.
func split(moved, posts []post, moves func(post) bool) (_, left []post) {
	for _, p := range posts {
		if moves(p) {
			moved = append(moved, p)
		}
	}
	return moved, slices.DeleteFunc(posts, moves)
}

// plan makes the changes of posts to a draft, and returns its state file, nil if that is the one
// that is there. The files are put together without the lock, which a room of many ranks would hold
// for long: nobody else changes the draft, or the room's settings and name while the stage has its
// feed.
func (f *feed) plan(posts []post) (d *draft, state []byte) {
	server, stateless := f.svc.o.Name, false
	f.svc.locked(func() {
		d = f.room.draft()
		for _, p := range posts {
			if p.change != nil {
				p.change(d)
			}
		}
		stateless = f.stateless
	})
	state = d.state(server, d.name)
	if !stateless && bytes.Equal(state, f.room.state(server, f.room.name)) {
		state = nil
	}
	return d, state
}

// retryStates writes state files again that lag behind their rooms because the disk refused them.
// The sweeper calls it: an immediate retry would take a processor and fill the report for as long
// as the disk is full. The caller holds the lock.
func (s *Service) retryStates() {
	for _, r := range s.rooms {
		if r.stateless {
			s.wants(&r.feed)
		}
	}
}

// retract makes a draft without the changes of posts that the log has refused.
func (f *feed) retract() *draft {
	d, _ := f.plan(f.changes)
	if err := durable.ReplaceFile(f.room.path, d.state(f.svc.o.Name, d.name), 0o600); err != nil {
		f.svc.o.Log.Error("a room's state has what its log has not", "log", f.key, "error", err)
		d.once(func() { f.stateless = true })
	}
	return d
}

// hold makes the draft what the room is, and tells those concerned.
func (f *feed) hold(d *draft) {
	f.svc.locked(func() {
		r := f.room
		r.settings, r.name, f.stateless = d.settings, d.name, false
		for u, ranks := range d.members {
			if m := r.members[u]; m != nil {
				m.ranks = ranks
			}
		}
		for _, f := range d.then {
			f()
		}
	})
	f.settleChanges()
}

// settleChanges ends the posts that have no line.
func (f *feed) settleChanges() {
	f.settle(f.changes)
	clear(f.changes)
	f.changes = f.changes[:0]
}
