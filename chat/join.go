package chat

import (
	"errors"
	"strings"

	"weir/chat/irc"
)

func (s *session) cmdJoin(m *irc.Message) {
	if m.Params[0] == "0" {
		for r := range s.user.rooms {
			s.leave(r, "")
		}
		return
	}
	names := strings.Split(m.Params[0], ",")
	keys := strings.Split(irc.Param(m, 1), ",")
	s.charge(len(names) - 1)
	s.slow(func() {
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

// join joins a room. It runs at the desk.
func (s *session) join(name, key string) {
	r, elsewhere, err := s.openToJoin(name)
	if err == nil {
		defer s.cameIn(r)
		err = s.found(r, key)
	}
	var seats []*seat
	s.svc.locked(func() {
		switch {
		case s.gone || s.user == nil || err == errTold:
		case err != nil:
			s.num(irc.ErrNoSuchChannel, irc.Cut(name, irc.MaxRoom), "No such channel: "+publicError(err))
		case elsewhere != nil && !s.redirected(name, r):
		case s.user.rooms[r] == nil && s.mayJoin(r, key):
			seats = s.enter(r)
		}
	})
	if len(seats) == 0 {
		return
	}
	s.catchUp(seats[0])
	s.svc.locked(func() {
		if s.user != nil && !s.gone {
			s.joinedMetadata(r)
		}
	})
	for _, seat := range seats[1:] {
		s.svc.bringIn(seat)
	}
}

// openToJoin opens a room of a name, or of the name that it has now. Who has it calls cameIn.
func (s *session) openToJoin(name string) (r *room, elsewhere *renamedError, err error) {
	if !irc.ValidRoom(name) {
		return nil, nil, errRoomName
	}
	opener, full := "", false
	s.svc.locked(func() {
		if s.user == nil || s.gone {
			return
		}
		if full = len(s.user.rooms) >= s.svc.opts().UserRooms && s.svc.rooms[irc.Fold(name)] == nil; full {
			s.num(irc.ErrTooManyChannels, irc.Cut(name, irc.MaxRoom), "You have joined too many channels")
		}
		opener = s.opener()
	})
	if full {
		return nil, nil, errTold
	}
	r, err = s.svc.openToCome(name, opener)
	if errors.As(err, &elsewhere) {
		r, err = s.svc.openToCome(elsewhere.now, opener)
	}
	return r, elsewhere, err
}

// opener is the one that the rooms count for that the session has opened: its account, or the
// network of a guest, as "@NETWORK". It is "" for server operators and for guests of this machine,
// who are not limited: a proxy may stand there. The caller holds the lock.
func (s *session) opener() string {
	switch {
	case s.user.oper, s.user.account == "" && s.peer.local():
		return ""
	case s.user.account == "":
		return s.peer.guessKey()
	}
	return irc.Fold(s.user.account)
}

// errTold is of somebody who was told already.
var errTold = errors.New("chat: told")

// cameIn ends a join, whatever became of it. A room that was opened for nobody is closed.
func (s *session) cameIn(r *room) {
	empty := false
	s.svc.locked(func() {
		r.coming--
		empty = r.coming == 0 && len(r.members) == 0
	})
	if empty {
		s.svc.closeBlank(r)
	}
}

// bringIn tells a session that another one of its user has joined a room, and has it catch up too:
// each device has missed something else. It runs at the desk of the other.
func (s *Service) bringIn(seat *seat) {
	var to *session
	s.locked(func() {
		to = seat.session.standIn()
		to.sayJoin(seat.feed.name)
	})
	to.catchUp(seat)
}

// found makes the user the operator of a room that nobody has, durably, if it is about to come in
// as the first. It runs at the desk.
func (s *session) found(r *room, key string) error {
	account, founds := "", false
	mayFound := func() bool {
		code, _ := s.keptOut(r, key)
		return code == "" && len(r.members) == 0 && len(r.ranks) == 0
	}
	s.svc.locked(func() {
		if founds = s.user != nil && !s.gone && s.user.account != "" && mayFound(); founds {
			account = irc.Fold(s.user.account)
		}
	})
	if !founds {
		return nil
	}
	return s.svc.putAndWait(func(author *session) error {
		if r.deleted {
			return nil // as mayJoin says
		}
		r.put(post{from: author, last: true, change: func(d *draft) {
			// of several who come at once it is the first
			if len(r.members) == 0 && len(d.ranks) == 0 {
				d.rank(account, "o")
			}
		}})
		return nil
	})
}

// mayJoin says whether the user may come in, and tells it if not.
func (s *session) mayJoin(r *room, key string) bool {
	code, why := s.keptOut(r, key)
	if code != "" {
		s.num(code, r.name, why)
	}
	return code == ""
}

// keptOut is why the user may not come in, as a numeric says it; "" if it may.
func (s *session) keptOut(r *room, key string) (code, why string) {
	u := s.user
	switch invited := u.invited[r]; {
	case r.deleted:
		code, why = irc.ErrNoSuchChannel, "It is being deleted: join again to have a new one"
	case len(u.rooms) >= s.svc.opts().UserRooms:
		code, why = irc.ErrTooManyChannels, "You have joined too many channels"
	case u.oper || u.account != "" && strings.Contains(r.ranks[irc.Fold(u.account)], "o"):
	case r.banned(u):
		code, why = irc.ErrBannedFromChan, "Cannot join channel (+b): you are banned"
	case r.has('i') && !invited:
		code, why = irc.ErrInviteOnly, "Cannot join channel (+i): you need an invite"
	case r.joinKey != "" && r.joinKey != key && !invited:
		code, why = irc.ErrBadChannelKey, "Cannot join channel (+k): wrong key"
	case r.limit > 0 && len(r.members) >= r.limit && !invited:
		code, why = irc.ErrChannelIsFull, "Cannot join channel (+l): it is full"
	}
	return code, why
}

// enter makes the user a member, with a seat for each of its sessions, the first of which is this
// one's. They are live once they have caught up.
func (s *session) enter(r *room) (seats []*seat) {
	u := s.user
	m := &member{user: u}
	if u.account != "" {
		m.ranks = r.ranks[irc.Fold(u.account)]
	}
	// a guest who is the first in a room that nobody has; of accounts see found
	if u.account == "" && len(r.members) == 0 && len(r.ranks) == 0 {
		m.ranks = "o"
	}
	r.members[u] = m
	u.rooms[r] = m
	delete(u.invited, r)
	seats = append(seats, r.sit(s))
	for _, other := range u.sessions {
		if other != s {
			seats = append(seats, r.sit(other))
		}
	}
	s.announce(r, m)
	return seats
}

// sit gives a session a seat, from where deliver is.
func (f *feed) sit(s *session) *seat {
	seat := &seat{session: s, feed: f, kept: -1}
	seat.seen.Store(f.delivered)
	f.seats = append(f.seats, seat)
	return seat
}

// announce tells a room of a new member.
func (s *session) announce(r *room, m *member) {
	u := m.user
	plain := s.svc.news(u, s, "JOIN", r.name)
	extended := s.svc.news(u, s, "JOIN", r.name, accountWord(u), u.real)
	for _, seat := range r.seats {
		if !seat.live && seat.session != s {
			continue
		}
		if seat.session.has(irc.CapExtendedJoin) {
			extended.tell(seat.session)
		} else {
			plain.tell(seat.session)
		}
	}
	if u.away != "" {
		away := s.svc.news(u, s, "AWAY", u.away)
		away.need = irc.CapAwayNotify
		s.toOthers(away, r)
	}
	if m.ranks != "" {
		letters := "+" + m.ranks
		mode := &news{tags: plain.tags, by: s, body: irc.AppendLine(nil, s.svc.o.Name, "MODE",
			append([]string{r.name, letters}, repeat(u.nick, len(m.ranks))...)...)}
		s.toOthers(mode, r)
	}
}

// accountWord is the user's account as JOIN shows it.
func accountWord(u *user) string {
	if u.account == "" {
		return "*"
	}
	return u.account
}

func repeat(word string, n int) []string {
	words := make([]string, n)
	for i := range words {
		words[i] = word
	}
	return words
}

// toOthers tells a room but for the session's own user.
func (s *session) toOthers(n *news, r *room) {
	for _, seat := range r.seats {
		if seat.live && seat.session.user != s.user {
			n.tell(seat.session)
		}
	}
}

// resume gives a session of an account its seats, and what it missed: in the rooms that its user is
// in, and in direct conversations. It runs at the desk.
func (s *session) resume() {
	s.loadMetadata()
	// reads the file, which the first mark would do with the lock held
	s.svc.accounts.Mark(s.login.Name, s.login.Device, "")
	var seats []*seat
	s.svc.locked(func() {
		if s.gone || s.user == nil {
			return
		}
		s.user.oper = s.user.oper || s.operates()
		for r := range s.user.rooms {
			if r.seatOf(s) == nil {
				seats = append(seats, r.sit(s))
			}
		}
	})
	for _, seat := range seats {
		s.svc.locked(func() { s.sayJoin(seat.feed.name) })
		s.catchUp(seat)
	}
	s.resumeDirect()
}

// sayJoin tells the session that its user is in a room.
func (s *session) sayJoin(room string) {
	u := s.user
	join := s.svc.news(u, s, "JOIN", room)
	if s.has(irc.CapExtendedJoin) {
		join = s.svc.news(u, s, "JOIN", room, u.account, u.real)
	}
	join.tell(s)
}

func (s *session) cmdPart(m *irc.Message) {
	why := irc.Cut(irc.Param(m, 1), irc.MaxTopic)
	for name := range strings.SplitSeq(m.Params[0], ",") {
		if r := s.roomOfMine(name); r != nil {
			s.leave(r, why)
		}
	}
}

// leave takes the user out of a room.
func (s *session) leave(r *room, why string) {
	params := []string{r.name}
	if why != "" {
		params = append(params, why)
	}
	s.svc.news(s.user, s, "PART", params...).toRoom(r)
	r.remove(s.user)
}

// roomOfMine is a room that the user is in; the user is told when there is none.
func (s *session) roomOfMine(name string) *room {
	r := s.svc.rooms[irc.Fold(name)]
	switch {
	case r == nil || !r.sees(s.user):
		s.num(irc.ErrNoSuchChannel, irc.Cut(name, irc.MaxRoom), "No such channel")
		return nil
	case s.user.rooms[r] == nil:
		s.num(irc.ErrNotOnChannel, r.name, "You're not on that channel")
		return nil
	}
	return r
}

// roomOfOps is a room that the user is in and may change; the user is told when it may not.
func (s *session) roomOfOps(name string) *room {
	r := s.svc.rooms[irc.Fold(name)]
	if r != nil && s.user.oper {
		return r
	}
	if r = s.roomOfMine(name); r == nil {
		return nil
	}
	if !s.user.rooms[r].op() {
		s.num(irc.ErrChanOpNeeded, r.name, "You're not channel operator")
		return nil
	}
	return r
}
