package core

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"weir/chat/data"
	"weir/chat/irc"
	"weir/chat/log"
)

// Errors of administrative changes.
var (
	ErrNoRoom        = errors.New("chat: there is no such room")
	ErrInvalidChange = errors.New("chat: invalid change")
)

// Member is a user in a room.
type Member struct {
	Nick    string `json:"nick"`
	Account string `json:"account"` // "": a guest
	Ranks   string `json:"ranks"`   // "o", "v", "ov" or ""
}

// Members returns the users in a room, sorted by nick. It is empty if the room is not open.
func (s *Core) Members(name string) []Member {
	all := []Member{}
	if r := s.rooms[irc.Fold(name)]; r != nil {
		for u, m := range r.members {
			all = append(all, Member{u.nick, u.account, m.ranks})
		}
	}
	slices.SortFunc(all, func(a, b Member) int { return strings.Compare(a.Nick, b.Nick) })
	return all
}

// RoomChange is a change by an administrator. A nil field leaves its property unchanged.
type RoomChange struct {
	Topic *string `json:"topic,omitempty"` // "": no topic
	Key   *string `json:"key,omitempty"`   // "": no key
	// by account: ranks to grant and revoke, such as "+o", "-v", "+o-v"
	Ranks map[string]string `json:"ranks,omitempty"`
}

// ChangeRoom changes an existing room and notifies its members. It returns when the change is on
// disk. Errors are ErrNoRoom, ErrInvalidChange, or the disk's.
func (s *Core) ChangeRoom(t *Task, name string, c RoomChange) error {
	if err := s.checkRoomExists(t, name); err != nil {
		return err
	}
	if err := s.checkChange(c); err != nil {
		return err
	}
	r, err := s.openRoom(t, name)
	if err != nil {
		return err
	}
	return s.putPostsAndWait(t, func(author *Session) error { return s.putRoomChange(r, author, c) })
}

// putRoomChange enqueues a change by an administrator.
func (s *Core) putRoomChange(r *room, author *Session, c RoomChange) error {
	if err := r.checkChangeable(); err != nil {
		return err
	}
	r.put(post{sender: author, lastLine: true, change: func(d *draft) {
		if c.Key != nil {
			s.planKeyAsServer(r, d, *c.Key)
		}
		for account, ranks := range c.Ranks {
			s.planRanksAsServer(r, d, account, ranks)
		}
	}})
	if c.Topic != nil {
		s.setTopicAsServer(r, author, irc.Cut(*c.Topic, irc.MaxTopic))
	}
	return nil
}

// checkChangeable returns the reason why the room cannot be changed now, or nil.
func (r *room) checkChangeable() error {
	switch {
	case r.deleted:
		return fmt.Errorf("%w: %s", ErrNoRoom, r.name)
	case r.svc.frozenSessions != nil:
		return ErrUpgrading
	}
	return nil
}

// checkRoomExists returns ErrNoRoom if the data directory has no such room.
func (s *Core) checkRoomExists(t *Task, name string) error {
	room, err := data.Named(name)
	if err != nil || room.Direct {
		return fmt.Errorf("%w: %q is not a valid name", ErrNoRoom, name)
	}
	exists := false
	if t.await(func() { exists = s.env.Storage.HasRoom(name) }); !exists {
		return fmt.Errorf("%w: %s", ErrNoRoom, name)
	}
	return nil
}

// checkPresentName returns ErrNoRoom with the present name of a room if the name is a former one.
// No room is renamed meanwhile.
func (s *Core) checkPresentName(t *Task, name string) error {
	present, renamed := "", false
	if t.await(func() { present, renamed = s.env.Storage.Renamed(name) }); renamed {
		return fmt.Errorf("%w: %s is called %s now", ErrNoRoom, name, present)
	}
	return nil
}

func (s *Core) checkChange(c RoomChange) error {
	if c.Key != nil && (len(*c.Key) > irc.MaxKey || strings.ContainsAny(*c.Key, ", :\r\n\x00")) {
		return fmt.Errorf("%w: a key is one word of at most %d bytes without commas or colons", ErrInvalidChange, irc.MaxKey)
	}
	if c.Topic != nil && (len(*c.Topic) > irc.MaxTopic || strings.ContainsAny(*c.Topic, "\r\n\x00")) {
		return fmt.Errorf("%w: a topic is one line of at most %d bytes", ErrInvalidChange, irc.MaxTopic)
	}
	for account, ranks := range c.Ranks {
		if s.env.Accounts.Lookup(account) == nil {
			return fmt.Errorf("%w: there is no account %q", ErrInvalidChange, account)
		}
		if strings.Trim(ranks, "+-"+irc.RoomRanks) != "" {
			return fmt.Errorf("%w: ranks are changed by +o, -o, +v and -v", ErrInvalidChange)
		}
	}
	return nil
}

// serverNotification returns a notification whose source is the server.
func (s *Core) serverNotification(command string, params ...string) *notification {
	return &notification{tags: irc.AppendTime(nil, s.now), body: irc.AppendLine(nil, s.fixed.Name, command, params...)}
}

func (s *Core) planKeyAsServer(r *room, d *draft, key string) {
	if key == d.joinKey {
		return
	}
	d.joinKey = key
	words := []string{"+k", key}
	if key == "" {
		words = []string{"-k", "*"}
	}
	d.whenApplied(func() { s.serverNotification("MODE", r.name, words[0], words[1]).sendToRoom(r) })
}

// planRanksAsServer plans new ranks for an account and for all members logged in to it.
func (s *Core) planRanksAsServer(r *room, d *draft, account, changes string) {
	key, on := irc.Fold(account), true
	for i := range len(changes) {
		rank := changes[i]
		if rank == '+' || rank == '-' {
			on = rank == '+'
			continue
		}
		d.setAccountRanks(key, setModeLetter(d.accountRanks[key], rank, on, irc.RoomRanks))
		d.whenApplied(func() { s.setMemberRank(r, key, rank, on) })
	}
}

// setMemberRank grants or revokes a rank of all members that are logged in to an account, and
// notifies the room.
func (s *Core) setMemberRank(r *room, account string, rank byte, on bool) {
	for u, m := range r.members {
		if irc.Fold(u.account) == account && strings.IndexByte(m.ranks, rank) >= 0 != on {
			m.ranks = setModeLetter(m.ranks, rank, on, irc.RoomRanks)
			s.serverNotification("MODE", r.name, map[bool]string{true: "+", false: "-"}[on]+string(rank), u.nick).sendToRoom(r)
		}
	}
}

// setTopicAsServer enqueues a topic change, as setTopic does for a user.
func (s *Core) setTopicAsServer(r *room, author *Session, text string) {
	by, now := s.fixed.Name, s.now
	r.put(post{sender: author, lastLine: true,
		entry: log.Entry{Time: now, Body: ":" + by + " TOPIC " + r.name + " :" + text},
		change: func(d *draft) {
			d.topic, d.topicSetBy, d.topicSetAt = text, by, now
		}})
}

// errChangeNotStored reports that the disk refused a change. The log has the reason.
var errChangeNotStored = errors.New("chat: the change was not stored; the log has the reason")

// putPostsAndWait enqueues posts of the server itself and waits until all are finished. Put is
// called with the session to name as sender. The error is nil if all posts are stored.
func (s *Core) putPostsAndWait(t *Task, put func(author *Session) error) error {
	by := &serverConn{task: t}
	author := &Session{svc: s, conn: by, postWhenDelivered: true}
	err := put(author)
	for author.pendingMessages > 0 { // finishPosts is called for every post, stored or not
		t.pause()
	}
	if err == nil && by.refused {
		err = errChangeNotStored
	}
	return err
}

// serverConn is the connection of a session of the server's own. The only line that it can be sent
// is the refusal of a post. It is posted when its posts are finished.
type serverConn struct {
	task    *Task // continues when the posts are finished
	refused bool
}

func (a *serverConn) Send([]byte) bool       { a.refused = true; return true }
func (a *serverConn) Post()                  { a.task.wake() }
func (a *serverConn) Close()                 {}
func (a *serverConn) Delivered() (_, _ bool) { return true, true }
func (a *serverConn) CanMove() bool          { return false }

// diskWait limits how long an administrative change waits for the disk.
const diskWait = 10 * time.Second

// waitDurable waits until all posts and the state of a conversation are on disk.
func (f *conversation) waitDurable(t *Task) error {
	expired := false
	f.svc.after(diskWait, func() {
		expired = true
		f.idleWaiters.wake()
	})
	for f.committing || f.stateDirty || len(f.pending) > 0 {
		if expired {
			return fmt.Errorf("chat: the disk did not finish within %v", diskWait)
		}
		f.idleWaiters.wait(t)
	}
	return nil
}

// DeleteRoom deletes a room with all its messages and removes its members. When it returns, the
// text is gone from the data directory. The error is ErrNoRoom if there is no such room, or if the
// name is a former one.
func (s *Core) DeleteRoom(t *Task, name string) error {
	s.opening.lock(t) // no room is opened meanwhile
	defer s.opening.unlock()
	if err := s.checkRoomExists(t, name); err != nil {
		return err
	}
	if err := s.checkPresentName(t, name); err != nil {
		return err
	}
	if err := s.closeDeletedRoom(t, name); err != nil {
		return err
	}
	var err error
	t.await(func() { err = s.env.Storage.DeleteRoom(name) })
	return err
}

// closeDeletedRoom removes the members of a room and closes it, if it is open.
func (s *Core) closeDeletedRoom(t *Task, name string) error {
	r := s.rooms[irc.Fold(name)]
	if r == nil {
		return nil
	}
	if s.frozenSessions != nil {
		return ErrUpgrading
	}
	r.deleted = true
	for _, u := range r.sortedMembers() {
		s.serverNotification("KICK", r.name, u.nick, "The room was deleted").sendToRoom(r)
		r.removeMember(u)
	}
	s.retryStates() // now, and not at the next tick
	if err := r.waitDurable(t); err != nil {
		r.deleted = false
		return err
	}
	delete(s.rooms, irc.Fold(name))
	var err error
	t.await(func() { err = r.log.Close() })
	return err
}
