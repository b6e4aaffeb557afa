package chat

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"weir/chat/irc"
)

// room is an open room. Guarded by Service.mu, except for fields of its conversation.
type room struct {
	conversation
	settings
	members   map[*user]*member
	renamedAt time.Time // when it got its name; zero: not since it was opened
	// account or network for which it was opened: see session.roomOpenerLocked; "": not limited
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

// removeMember removes a user from the room and unsubscribes its sessions.
func (r *room) removeMember(u *user) {
	delete(r.members, u)
	delete(u.rooms, r)
	for _, s := range u.sessions {
		r.unsubscribeLocked(s)
	}
}

var (
	errMaxRooms   = errors.New("the server has reached its limit of open rooms: try again later")
	errGuestRooms = errors.New("guests from your address have reached their limit of open rooms: log in, or join one of those")
	errOwnRooms   = errors.New("your account has reached its limit of open rooms: join one of them, or wait until some are closed")
)

// openRoom returns a room, which it opens or creates if necessary.
func (s *core) openRoom(t *task, name string) (*room, error) {
	r, err := s.openRoomFor(t, name, "")
	if err == nil {
		r.joinsUnderWay--
	}
	return r, err
}

// openRoomFor is openRoom for a join, which finishJoin must end. Opener is the name under which
// open rooms are counted and limited; "" has no limit.
func (s *core) openRoomFor(t *task, name, opener string) (*room, error) {
	s.opening.lock(t)
	defer s.opening.unlock()
	if r := s.rooms[irc.Fold(name)]; r != nil {
		r.lastUsed = s.now // so that closeIdle does not close it before it is used
		r.joinsUnderWay++
		return r, nil
	}
	if err := s.checkRoomLimitsLocked(opener); err != nil {
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
func (s *core) loadRoom(r *room, name string, now time.Time) error {
	if newName, ok := s.env.storage.Renamed(name); ok {
		return &renamedError{newName}
	}
	r.settings, r.conversation.room = newSettings(now), r
	if err := s.openConversationLog(&r.conversation, roomPath(name), name, now); err != nil {
		return err
	}
	state, err := s.env.storage.ReadFile(r.statePath())
	if err != nil {
		s.fixed.Log.Warn("a room's state cannot be read", "room", name, "error", err)
	}
	r.readState(state)
	for _, old := range r.formerNames {
		if err := s.env.storage.Relink(old, r.name); err != nil {
			s.fixed.Log.Warn("the former name of a room does not redirect to it", "room", name, "error", err)
		}
	}
	r.metadata = s.readMetadata(r.metadataPath())
	return nil
}

// statePath returns the path of the room's state file in the data directory.
func (r *room) statePath() string { return roomPath(r.name) + "/state" }

// checkRoomLimitsLocked returns the reason why no further room can be opened, or nil. The caller
// holds mu.
func (s *core) checkRoomLimitsLocked(opener string) error {
	if len(s.rooms)+len(s.directs) >= s.options().MaxRooms {
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
	case n < s.options().MaxRoomsPerUser: // the number of rooms that one account may be in
		return nil
	case opener[0] == '@':
		return errGuestRooms
	}
	return errOwnRooms
}

// closeUnusedRoom closes a room without members in which nothing was ever stored, and removes its
// folder. Rooms with a join in progress are left to closeIdle.
func (s *core) closeUnusedRoom(t *task, r *room) {
	s.opening.lock(t)
	defer s.opening.unlock()
	canClose := func() bool {
		return r.joinsUnderWay == 0 && len(r.members) == 0 && len(r.subscriptions) == 0 && len(r.pending) == 0 && !r.committing && !r.stateDirty &&
			s.frozenSessions == nil && s.rooms[irc.Fold(r.name)] == r
	}
	if !canClose() {
		return
	}
	path, unused := r.pathLocked(), false
	t.await(func() { unused = s.env.storage.IsUnused(path, r.log) })
	if unused && canClose() {
		delete(s.rooms, irc.Fold(r.name))
		r.close(t)
	}
}

// openConversationLog opens a conversation's log. It waits for the disk.
func (s *core) openConversationLog(f *conversation, path, name string, now time.Time) error {
	l, err := s.env.storage.OpenLog(path)
	if err != nil {
		s.fixed.Log.Error("a log cannot be opened", "log", path, "error", err)
		return fmt.Errorf("its log cannot be opened: %w", err)
	}
	f.svc, f.name, f.log, f.logID = s, name, l, l.ID()
	f.lastUsed, f.appendBatch = now, f.newAppendJob()
	f.deliveredOffset = l.Committed()
	return nil
}
