package core

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"weir/chat/data"
	"weir/chat/irc"
	"weir/chat/log"
)

// room is an open room.
type room struct {
	conversation
	settings
	members   map[*user]*member
	renamedAt time.Time // when it got its name; zero: not since it was opened
	// account or network for which it was opened: see Session.roomOpener; "": not limited
	opener        string
	joinsUnderWay int               // joins in progress, during which it is not closed
	deleted       bool              // deleted by an administrator: no user may join
	metadata      map[string]string // see metadata.go
}

// member is a user in a room.
type member struct {
	user  *user
	ranks string // letters of irc.RoomRanks, highest first
}

func (m *member) isOperator() bool { return strings.Contains(m.ranks, "o") }
func (m *member) hasVoice() bool   { return m.ranks != "" }

// prefix returns the member's rank as lists of names show it: the highest, or all.
func (m *member) prefix(all bool) string {
	p := ""
	for i := range len(irc.RoomRanks) {
		if strings.IndexByte(m.ranks, irc.RoomRanks[i]) >= 0 {
			p += irc.RankPrefixes[i : i+1]
		}
	}
	if len(p) > 1 && !all {
		p = p[:1]
	}
	return p
}

// isVisibleTo reports whether a user may know that the room exists.
func (r *room) isVisibleTo(u *user) bool { return !r.hasFlag('s') || r.members[u] != nil || u.oper }

// isBanned reports whether a ban of the room matches a user.
func (r *room) isBanned(u *user) bool {
	return slices.ContainsFunc(r.bans, func(b ban) bool { return irc.Match(b.mask, u.source) })
}

// sortedRooms returns the rooms of the user by name. Their order is that of jobs, which a seed must
// repeat.
func (u *user) sortedRooms() []*room {
	return slices.SortedFunc(maps.Keys(u.rooms), func(a, b *room) int { return strings.Compare(a.name, b.name) })
}

// sortedMembers returns the users in the room by nick.
func (r *room) sortedMembers() []*user {
	return slices.SortedFunc(maps.Keys(r.members), func(a, b *user) int { return strings.Compare(a.nick, b.nick) })
}

// removeMember removes a user from the room and unsubscribes its sessions.
func (r *room) removeMember(u *user) {
	delete(r.members, u)
	delete(u.rooms, r)
	for _, s := range u.sessions {
		r.unsubscribe(s)
	}
}

var (
	errMaxRooms   = errors.New("the server has reached its limit of open rooms: try again later")
	errGuestRooms = errors.New("guests from your address have reached their limit of open rooms: log in, or join one of those")
	errOwnRooms   = errors.New("your account has reached its limit of open rooms: join one of them, or wait until some are closed")
)

// openRoom returns a room, which it opens or creates if necessary.
func (s *Core) openRoom(t *Task, name string) (*room, error) {
	r, err := s.openRoomFor(t, name, "")
	if err == nil {
		r.joinsUnderWay--
	}
	return r, err
}

// openRoomFor is openRoom for a join, which finishJoin must end. Opener is the name under which
// open rooms are counted and limited; "" has no limit.
func (s *Core) openRoomFor(t *Task, name, opener string) (*room, error) {
	s.opening.lock(t)
	defer s.opening.unlock()
	if r := s.rooms[irc.Fold(name)]; r != nil {
		r.lastUsed = s.now // so that closeIdle does not close it before it is used
		r.joinsUnderWay++
		return r, nil
	}
	if err := s.checkRoomLimits(opener); err != nil {
		return nil, err
	}
	r, now := &room{members: map[*user]*member{}, opener: opener, joinsUnderWay: 1}, s.now
	var err error
	t.await(func() { err = s.loadRoom(r, name, now) })
	if err != nil {
		return nil, err
	}
	s.rooms[irc.Fold(r.name)] = r
	return r, nil
}

// loadRoom opens the log of a room and reads its state. It waits for the disk. No other code has
// access to the room yet.
func (s *Core) loadRoom(r *room, name string, now time.Time) error {
	if newName, ok := s.env.Storage.Renamed(name); ok {
		return &renamedError{newName}
	}
	r.settings, r.conversation.room = newSettings(now), r
	if err := s.openConversationLog(&r.conversation, data.RoomPath(name), name, now); err != nil {
		return err
	}
	state, err := s.env.Storage.ReadFile(r.statePath())
	if err != nil {
		s.fixed.Log.Warn("a room's state cannot be read", "room", name, "error", err)
	}
	r.readState(state)
	for _, old := range r.formerNames {
		if err := s.env.Storage.Relink(old, r.name); err != nil {
			s.fixed.Log.Warn("the former name of a room does not redirect to it", "room", name, "error", err)
		}
	}
	r.metadata = s.readMetadata(r.metadataPath())
	return nil
}

// statePath returns the path of the room's state file in the data directory.
func (r *room) statePath() string { return data.RoomPath(r.name) + "/state" }

// checkRoomLimits returns the reason why no further room can be opened, or nil.
func (s *Core) checkRoomLimits(opener string) error {
	if len(s.rooms)+len(s.directs) >= s.Options().MaxRooms {
		return errMaxRooms
	}
	if opener == "" {
		return nil
	}
	n := 0
	for _, r := range s.rooms {
		if r.opener == opener {
			n++
		}
	}
	switch {
	case n < s.Options().MaxRoomsPerUser: // the number of rooms that one account may be in
		return nil
	case opener[0] == '@':
		return errGuestRooms
	}
	return errOwnRooms
}

// closeUnusedRoom closes a room without members in which nothing was ever stored, and removes its
// folder. Rooms with a join in progress are left to closeIdle.
func (s *Core) closeUnusedRoom(t *Task, r *room) {
	s.opening.lock(t)
	defer s.opening.unlock()
	canClose := func() bool {
		return r.joinsUnderWay == 0 && len(r.members) == 0 && len(r.subscriptions) == 0 && len(r.pending) == 0 && !r.committing && !r.stateDirty &&
			s.frozenSessions == nil && s.rooms[irc.Fold(r.name)] == r
	}
	if !canClose() {
		return
	}
	path, unused := r.path(), false
	t.await(func() { unused = s.env.Storage.IsUnused(path, r.log) })
	if unused && canClose() {
		delete(s.rooms, irc.Fold(r.name))
		r.close(t)
	}
}

// openConversationLog opens a conversation's log. It waits for the disk.
func (s *Core) openConversationLog(f *conversation, path, name string, now time.Time) error {
	l, err := s.env.Storage.OpenLog(path)
	if err != nil {
		s.fixed.Log.Error("a log cannot be opened", "log", path, "error", err)
		return fmt.Errorf("its log cannot be opened: %w", err)
	}
	f.svc, f.name, f.log, f.logID = s, name, l, l.ID()
	f.lastUsed, f.appendBatch = now, f.newAppendJob()
	f.deliveredOffset = l.Committed()
	return nil
}

func (s *Session) cmdKick(m *irc.Message) {
	r := s.operatedRoom(m.Params[0])
	if r == nil {
		return
	}
	u := s.findMember(r, m.Params[1])
	if u == nil {
		return
	}
	reason := irc.Cut(irc.Param(m, 2), irc.MaxTopic)
	if reason == "" {
		reason = s.user.nick
	}
	kick := s.svc.userNotification(s.user, s, "KICK", r.name, u.nick, reason)
	kick.sendToRoom(r)
	if s.user.rooms[r] == nil { // a server operator who is not in the room
		kick.sendTo(s)
	}
	r.removeMember(u)
}

// findMember returns the member with a nick. Otherwise it replies with an error and returns nil.
func (s *Session) findMember(r *room, nick string) *user {
	u := s.svc.findUser(nick)
	switch {
	case u == nil:
		s.numeric(irc.ErrNoSuchNick, irc.Word(irc.Cut(nick, irc.MaxNick)), "No such nick")
	case r.members[u] == nil:
		s.numeric(irc.ErrUserNotIn, u.nick, r.name, "They aren't on that channel")
		return nil
	}
	return u
}

func (s *Session) cmdInvite(m *irc.Message) {
	if len(m.Params) < 2 {
		for r := range s.user.invited {
			s.numeric(irc.RplInviteList, r.name)
		}
		s.numeric(irc.RplEndOfInvites, "End of INVITE list")
		return
	}
	r := s.joinedRoom(m.Params[1])
	if r == nil {
		return
	}
	u := s.svc.findUser(m.Params[0])
	switch {
	case u == nil:
		s.numeric(irc.ErrNoSuchNick, irc.Cut(m.Params[0], irc.MaxNick), "No such nick")
	case r.members[u] != nil:
		s.numeric(irc.ErrUserOnChannel, u.nick, r.name, "is already on channel")
	case r.hasFlag('i') && !s.user.rooms[r].isOperator():
		s.numeric(irc.ErrChanOpNeeded, r.name, "You're not channel operator")
	default:
		s.invite(r, u)
	}
}

func (s *Session) invite(r *room, u *user) {
	u.addInvitation(r)
	s.numeric(irc.RplInviting, u.nick, r.name)
	if u.away != "" {
		s.numeric(irc.RplAway, u.nick, u.away)
	}
	invite := s.svc.userNotification(s.user, s, "INVITE", u.nick, r.name)
	invite.sendToUser(u)
	for other, m := range r.members {
		if m.isOperator() && other != s.user {
			for _, session := range other.sessions {
				if session.has(irc.CapInviteNotify) {
					invite.sendTo(session)
				}
			}
		}
	}
}

// maxInvited limits the pending invitations of a user.
const maxInvited = 64

// addInvitation records an invitation until the user joins. Beyond maxInvited it drops invitations
// to closed rooms first, and then any other.
func (u *user) addInvitation(r *room) {
	if u.invited == nil {
		u.invited = map[*room]bool{}
	}
	maps.DeleteFunc(u.invited, func(other *room, _ bool) bool { return other.svc.rooms[irc.Fold(other.name)] != other })
	for other := range u.invited {
		if len(u.invited) < maxInvited {
			break
		}
		delete(u.invited, other)
	}
	u.invited[r] = true
}

func (s *Session) cmdTopic(m *irc.Message) {
	if len(m.Params) < 2 {
		r := s.svc.rooms[irc.Fold(m.Params[0])]
		if r != nil && s.user.oper || r != nil && !r.hasFlag('s') {
			s.sendTopic(r)
		} else if r = s.joinedRoom(m.Params[0]); r != nil {
			s.sendTopic(r)
		}
		if r != nil && r.topic == "" {
			s.numeric(irc.RplNoTopic, r.name, "No topic is set")
		}
		return
	}
	r := s.joinedRoom(m.Params[0])
	if r == nil {
		return
	}
	if r.hasFlag('t') && !s.user.rooms[r].isOperator() && !s.user.oper {
		s.numeric(irc.ErrChanOpNeeded, r.name, "You're not channel operator")
		return
	}
	s.setTopic(r, irc.Cut(m.Params[1], irc.MaxTopic))
}

// setTopic enqueues a new topic. It is stored like a message and takes effect after that.
func (s *Session) setTopic(r *room, text string) {
	u, now := s.user, s.svc.now
	by := u.source
	r.put(post{sender: s, label: s.label, lastLine: true,
		entry:   log.Entry{Time: now, Tags: u.tags(), Body: ":" + by + " TOPIC " + r.name + " :" + text},
		command: "TOPIC", change: func(d *draft) {
			d.topic, d.topicSetBy, d.topicSetAt = text, by, now
		}})
	s.deferredReply = true
}

// sendTopic sends the room's topic, if it has one.
func (s *Session) sendTopic(r *room) {
	if r.topic != "" {
		s.numeric(irc.RplTopic, r.name, r.topic)
		s.numeric(irc.RplTopicWhoTime, r.name, r.topicSetBy, formatEpoch(r.topicSetAt))
	}
}

func (s *Session) cmdNames(m *irc.Message) {
	name := irc.Param(m, 0)
	r := s.svc.rooms[irc.Fold(name)]
	if r == nil || !r.isVisibleTo(s.user) {
		if name == "" {
			name = "*"
		}
		s.numeric(irc.RplEndOfNames, irc.Cut(name, irc.MaxRoom), "End of NAMES list")
		return
	}
	s.sendNames(r)
}

// sendNames sends the list of a room's members.
func (s *Session) sendNames(r *room) {
	caps, kind := s.caps, "="
	if r.hasFlag('s') {
		kind = "@"
	}
	s.chargeItems(len(r.members))
	var words []string
	for u, m := range r.members {
		if !s.user.canSee(u) {
			continue
		}
		name := u.nick
		if caps.Has(irc.CapUserhostInNames) {
			name = u.source
		}
		words = append(words, m.prefix(caps.Has(irc.CapMultiPrefix))+name)
	}
	if len(words) > 0 {
		for _, line := range irc.Wrap(words, 400) {
			s.replies = append(s.replies, ":"+s.svc.fixed.Name+" "+irc.RplNamReply+" "+s.nick()+" "+kind+" "+r.name+" :"+line+"\r\n"...)
		}
	}
	s.numeric(irc.RplEndOfNames, r.name, "End of NAMES list")
}

// replyCollector returns a copy of the session that collects replies for it while another
// goroutine owns the session.
func (s *Session) replyCollector() *Session {
	return &Session{svc: s.svc, conn: s.conn, user: s.user, peer: s.peer, login: s.login, metadataSubs: s.metadataSubs, caps: s.caps}
}
