package chat

import (
	"maps"

	"weir/chat/irc"
)

func (s *session) cmdKick(m *irc.Message) {
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
func (s *session) findMember(r *room, nick string) *user {
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

func (s *session) cmdInvite(m *irc.Message) {
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

func (s *session) invite(r *room, u *user) {
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
