package chat

import (
	"maps"

	"weir/chat/irc"
)

func (s *session) cmdKick(m *irc.Message) {
	r := s.roomOfOps(m.Params[0])
	if r == nil {
		return
	}
	u := s.memberOf(r, m.Params[1])
	if u == nil {
		return
	}
	why := irc.Cut(irc.Param(m, 2), irc.MaxTopic)
	if why == "" {
		why = s.user.nick
	}
	kick := s.svc.news(s.user, s, "KICK", r.name, u.nick, why)
	kick.toRoom(r)
	if s.user.rooms[r] == nil { // an operator from outside
		kick.tell(s)
	}
	r.remove(u)
}

// memberOf is who of a room is called so. The client is told when there is nobody, or somebody who
// is not in the room.
func (s *session) memberOf(r *room, nick string) *user {
	u := s.svc.find(nick)
	switch {
	case u == nil:
		s.num(irc.ErrNoSuchNick, irc.Word(irc.Cut(nick, irc.MaxNick)), "No such nick")
	case r.members[u] == nil:
		s.num(irc.ErrUserNotIn, u.nick, r.name, "They aren't on that channel")
		return nil
	}
	return u
}

func (s *session) cmdInvite(m *irc.Message) {
	if len(m.Params) < 2 {
		for r := range s.user.invited {
			s.num(irc.RplInviteList, r.name)
		}
		s.num(irc.RplEndOfInvites, "End of INVITE list")
		return
	}
	r := s.roomOfMine(m.Params[1])
	if r == nil {
		return
	}
	u := s.svc.find(m.Params[0])
	switch {
	case u == nil:
		s.num(irc.ErrNoSuchNick, irc.Cut(m.Params[0], irc.MaxNick), "No such nick")
	case r.members[u] != nil:
		s.num(irc.ErrUserOnChannel, u.nick, r.name, "is already on channel")
	case r.has('i') && !s.user.rooms[r].op():
		s.num(irc.ErrChanOpNeeded, r.name, "You're not channel operator")
	default:
		s.invite(r, u)
	}
}

func (s *session) invite(r *room, u *user) {
	u.invite(r)
	s.num(irc.RplInviting, u.nick, r.name)
	if u.away != "" {
		s.num(irc.RplAway, u.nick, u.away)
	}
	invite := s.svc.news(s.user, s, "INVITE", u.nick, r.name)
	invite.to(u)
	for other, m := range r.members {
		if m.op() && other != s.user {
			for _, session := range other.sessions {
				if session.has(irc.CapInviteNotify) {
					invite.tell(session)
				}
			}
		}
	}
}

// maxInvited is how many invitations of a user hold at once.
const maxInvited = 64

// invite has an invitation hold until the user comes. When there are too many another goes, and
// first those to rooms that were closed.
func (u *user) invite(r *room) {
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
