package core

import (
	"errors"
	"strings"

	"weir/chat/irc"
)

func (s *Session) cmdJoin(m *irc.Message) {
	if m.Params[0] == "0" {
		for _, r := range s.user.sortedRooms() {
			s.leaveRoom(r, "")
		}
		return
	}
	names := strings.Split(m.Params[0], ",")
	keys := strings.Split(irc.Param(m, 1), ",")
	s.charge(len(names) - 1)
	s.startTask(func() {
		for i, name := range names {
			key := ""
			if i < len(keys) {
				key = keys[i]
			}
			s.join(name, key)
		}
	})
}

var errRoomName = errors.New("a name begins with #, and has no space, comma or wildcard")

// join joins a room. It is a task.
func (s *Session) join(name, key string) {
	r, renamed, err := s.openRoomForJoin(name)
	if err == nil {
		defer s.finishJoin(r)
		err = s.claimUnownedRoom(r, key)
	}
	var subs []*subscription
	// relative, because leaveToTask may move the start
	from := len(s.replies) - s.replyStart
	switch {
	case !s.isActive() || err == errReplied:
	case err != nil:
		s.numeric(irc.ErrNoSuchChannel, irc.Cut(name, irc.MaxRoom), "No such channel: "+publicError(err))
	case renamed != nil && !s.redirectJoin(name, r):
	case s.user.rooms[r] == nil && s.checkJoin(r, key):
		subs = s.addMember(r)
	}
	if len(subs) == 0 {
		return
	}
	joined := r.name
	s.catchUp(subs[0])
	if s.isActive() {
		s.reportRemoval(subs[0], joined, from)
		s.syncJoinedMetadata(r)
	}
	for _, sub := range subs[1:] {
		s.joinOtherSession(sub)
	}
}

// reportRemoval reports that the user was removed from a room while its session was catching up.
// The session, which was not live, has not been sent a PART or KICK. Its replies about the room
// start at an offset behind the command's first one.
func (s *Session) reportRemoval(sub *subscription, joined string, from int) {
	switch {
	case sub.state != unsubscribed:
	case sub.conversation.subscriptionOf(s) != nil: // another session reports its JOIN
		s.replies = s.replies[:s.replyStart+from]
	default:
		s.svc.userNotification(s.user, s, "PART", joined, "You were removed").sendTo(s)
		if !s.flushReplies() { // before a later JOIN
			s.svc.closeSlow(s)
		}
	}
}

// openRoomForJoin opens a room by its name or a former name. On success the caller must call
// finishJoin. It is a task.
func (s *Session) openRoomForJoin(name string) (r *room, renamed *renamedError, err error) {
	switch {
	case !irc.ValidRoom(name):
		return nil, nil, errRoomName
	case !s.isActive():
		return nil, nil, errReplied
	case len(s.user.rooms) >= s.svc.Options().MaxRoomsPerUser && s.svc.rooms[irc.Fold(name)] == nil:
		s.numeric(irc.ErrTooManyChannels, irc.Cut(name, irc.MaxRoom), "You have joined too many channels")
		return nil, nil, errReplied
	}
	opener := s.roomOpener()
	r, err = s.svc.openRoomFor(s.task, name, opener)
	if errors.As(err, &renamed) {
		r, err = s.svc.openRoomFor(s.task, renamed.newName, opener)
	}
	return r, renamed, err
}

// roomOpener returns the name under which rooms opened by the session are counted: its
// account, or the network of a guest as "@NETWORK". It is "" for server operators and for guests of
// this machine. The latter are not limited because they may be behind a local proxy.
func (s *Session) roomOpener() string {
	switch {
	case s.user.oper, s.user.account == "" && s.peer.isLocal():
		return ""
	case s.user.account == "":
		return s.peer.networkKey()
	}
	return irc.Fold(s.user.account)
}

// errReplied reports a failure for which the client has been sent a reply.
var errReplied = errors.New("chat: the client has been sent the reason")

// finishJoin ends a join, whether it succeeded or not. A room that was opened for a failed join is
// closed. It is a task.
func (s *Session) finishJoin(r *room) {
	if r.joinsUnderWay--; r.joinsUnderWay == 0 && len(r.members) == 0 {
		s.svc.closeUnusedRoom(s.task, r)
	}
}

// joinOtherSession notifies another session of the session's user that the user has joined a room,
// and catches it up: each device has missed other messages. It is a task.
func (s *Session) joinOtherSession(sub *subscription) {
	to := sub.session.replyCollector()
	to.task = s.task
	to.sendJoin(sub.conversation.name)
	to.catchUp(sub)
}

// claimUnownedRoom makes the user the operator of a room without operators and members, durably, if
// the user is about to join it. It is a task.
func (s *Session) claimUnownedRoom(r *room, key string) error {
	if !s.isActive() || s.user.account == "" || len(r.members) > 0 || len(r.accountRanks) > 0 {
		return nil
	}
	if code, _ := s.joinRefusal(r, key); code != "" {
		return nil
	}
	account := irc.Fold(s.user.account)
	return s.svc.putPostsAndWait(s.task, func(author *Session) error {
		if r.deleted {
			return nil // checkJoin sends the reply
		}
		r.put(post{sender: author, lastLine: true, change: func(d *draft) {
			// of several users that join at once, the first becomes operator
			if len(r.members) == 0 && len(d.accountRanks) == 0 {
				d.setAccountRanks(account, "o")
			}
		}})
		return nil
	})
}

// checkJoin reports whether the user may join. If not, it replies with the reason.
func (s *Session) checkJoin(r *room, key string) bool {
	code, reason := s.joinRefusal(r, key)
	if code != "" {
		s.numeric(code, r.name, reason)
	}
	return code == ""
}

// joinRefusal returns the numeric and text that refuse a join, or "" if the user may join.
func (s *Session) joinRefusal(r *room, key string) (code, reason string) {
	u := s.user
	switch invited := u.invited[r]; {
	case r.deleted:
		code, reason = irc.ErrNoSuchChannel, "It is being deleted: join again to have a new one"
	case len(u.rooms) >= s.svc.Options().MaxRoomsPerUser:
		code, reason = irc.ErrTooManyChannels, "You have joined too many channels"
	case u.oper || u.account != "" && strings.Contains(r.accountRanks[irc.Fold(u.account)], "o"):
	case r.isBanned(u):
		code, reason = irc.ErrBannedFromChan, "Cannot join channel (+b): you are banned"
	case r.hasFlag('i') && !invited:
		code, reason = irc.ErrInviteOnly, "Cannot join channel (+i): you need an invite"
	case r.joinKey != "" && r.joinKey != key && !invited:
		code, reason = irc.ErrBadChannelKey, "Cannot join channel (+k): wrong key"
	case r.memberLimit > 0 && len(r.members) >= r.memberLimit && !invited:
		code, reason = irc.ErrChannelIsFull, "Cannot join channel (+l): it is full"
	}
	return code, reason
}

// addMember makes the user a member and subscribes all its sessions; the receiver's subscription is
// the first. They become live once they have caught up.
func (s *Session) addMember(r *room) (subs []*subscription) {
	u := s.user
	m := &member{user: u}
	if u.account != "" {
		m.ranks = r.accountRanks[irc.Fold(u.account)]
	}
	// a guest who joins a room without operators and members; for accounts see claimUnownedRoom
	if u.account == "" && len(r.members) == 0 && len(r.accountRanks) == 0 {
		m.ranks = "o"
	}
	r.members[u] = m
	u.rooms[r] = m
	delete(u.invited, r)
	subs = append(subs, r.subscribe(s))
	for _, other := range u.sessions {
		if other != s {
			subs = append(subs, r.subscribe(other))
		}
	}
	s.announceJoin(r, m)
	return subs
}

// subscribe subscribes a session from the last delivery on.
func (f *conversation) subscribe(s *Session) *subscription {
	sub := &subscription{session: s, conversation: f, savedMarker: -1, sentUpTo: f.deliveredOffset}
	f.subscriptions = append(f.subscriptions, sub)
	return sub
}

// announceJoin notifies a room of a new member.
func (s *Session) announceJoin(r *room, m *member) {
	s.chargeItems(len(r.subscriptions))
	u := m.user
	plain := s.svc.userNotification(u, s, "JOIN", r.name)
	extended := s.svc.userNotification(u, s, "JOIN", r.name, accountWord(u), u.realname)
	for _, sub := range r.subscriptions {
		if sub.state == catchingUp && sub.session != s {
			continue
		}
		if sub.session.has(irc.CapExtendedJoin) {
			extended.sendTo(sub.session)
		} else {
			plain.sendTo(sub.session)
		}
	}
	if u.away != "" {
		away := s.svc.userNotification(u, s, "AWAY", u.away)
		away.requiredCaps = irc.CapAwayNotify
		s.notifyOtherMembers(away, r)
	}
	if m.ranks != "" {
		letters := "+" + m.ranks
		mode := &notification{tags: plain.tags, requester: s, body: irc.AppendLine(nil, s.svc.fixed.Name, "MODE",
			append([]string{r.name, letters}, repeatWord(u.nick, len(m.ranks))...)...)}
		s.notifyOtherMembers(mode, r)
	}
}

// accountWord returns the user's account as JOIN shows it.
func accountWord(u *user) string {
	if u.account == "" {
		return "*"
	}
	return u.account
}

func repeatWord(word string, n int) []string {
	words := make([]string, n)
	for i := range words {
		words[i] = word
	}
	return words
}

// notifyOtherMembers notifies a room except the session's own user.
func (s *Session) notifyOtherMembers(n *notification, r *room) {
	for _, sub := range r.subscriptions {
		if sub.state == live && sub.session.user != s.user {
			n.sendTo(sub.session)
		}
	}
}

// resumeAccount subscribes a session of an account to the rooms of its user and to its direct
// conversations, and replays what it missed. It is a task.
func (s *Session) resumeAccount() {
	s.loadMetadata()
	// loads the file of markers, so that saveReadMarker does not wait for it
	s.task.await(func() { s.svc.env.Accounts.ReadMarker(s.login.Name, s.login.Device, "") })
	for _, sub := range s.resubscribe() {
		from := len(s.replies)
		s.sendJoin(sub.conversation.name)
		if s.catchUp(sub); sub.state == unsubscribed { // the user has left meanwhile
			s.replies = s.replies[:from]
		}
	}
	s.resumeDirects()
}

// resubscribe subscribes the session to the rooms of its user that it has no subscription to. It is
// a task.
func (s *Session) resubscribe() (subs []*subscription) {
	s.svc.opening.lock(s.task) // no room is being renamed: its members would be notified twice
	defer s.svc.opening.unlock()
	if !s.isActive() {
		return nil
	}
	s.svc.makeOperator(s.user, s.accountName())
	for _, r := range s.user.sortedRooms() {
		if r.subscriptionOf(s) == nil {
			subs = append(subs, r.subscribe(s))
		}
	}
	return subs
}

// sendJoin notifies the session that its user is in a room.
func (s *Session) sendJoin(room string) {
	u := s.user
	join := s.svc.userNotification(u, s, "JOIN", room)
	if s.has(irc.CapExtendedJoin) {
		join = s.svc.userNotification(u, s, "JOIN", room, u.account, u.realname)
	}
	join.sendTo(s)
}

func (s *Session) cmdPart(m *irc.Message) {
	reason := irc.Cut(irc.Param(m, 1), irc.MaxTopic)
	for name := range strings.SplitSeq(m.Params[0], ",") {
		if r := s.joinedRoom(name); r != nil {
			s.leaveRoom(r, reason)
		}
	}
}

// leaveRoom removes the user from a room.
func (s *Session) leaveRoom(r *room, reason string) {
	params := []string{r.name}
	if reason != "" {
		params = append(params, reason)
	}
	s.svc.userNotification(s.user, s, "PART", params...).sendToRoom(r)
	r.removeMember(s.user)
}

// joinedRoom returns a room that the user is in. Otherwise it replies with an error and returns
// nil.
func (s *Session) joinedRoom(name string) *room {
	r := s.svc.rooms[irc.Fold(name)]
	switch {
	case r == nil || !r.isVisibleTo(s.user):
		s.numeric(irc.ErrNoSuchChannel, irc.Cut(name, irc.MaxRoom), "No such channel")
		return nil
	case s.user.rooms[r] == nil:
		s.numeric(irc.ErrNotOnChannel, r.name, "You're not on that channel")
		return nil
	}
	return r
}

// operatedRoom returns a room that the user may change. Otherwise it replies with an error and
// returns nil.
func (s *Session) operatedRoom(name string) *room {
	r := s.svc.rooms[irc.Fold(name)]
	if r != nil && s.user.oper {
		return r
	}
	if r = s.joinedRoom(name); r == nil {
		return nil
	}
	if !s.user.rooms[r].isOperator() {
		s.numeric(irc.ErrChanOpNeeded, r.name, "You're not channel operator")
		return nil
	}
	return r
}
