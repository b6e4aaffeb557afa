package chat

import (
	"time"

	"weir/chat/irc"
)

// user is an online user with one or more sessions. Guarded by Service.mu.
type user struct {
	nick, name, host, realname string
	source                     string // nick!name@host
	account                    string // "": a guest
	away                       string // away message; "": not away
	bot, invisible, oper       bool
	sessions                   []*session
	rooms                      map[*room]*member
	invited                    map[*room]bool
	metadata                   map[string]string // see metadata.go; nil: not yet loaded
	connectedAt, lastSpokeAt   time.Time
	// Service.lastStamp of the last walk over users that visited it
	walkStamp uint64
	// QUIT message if no session of it is adopted: see finishAdoption
	quitMessageIfLost string
}

func (u *user) updateSource() { u.source = u.nick + "!" + u.name + "@" + u.host }

// tags returns the tags of the user's messages: its account and whether it is a bot. "" if there
// are none.
func (u *user) tags() string {
	tags := ""
	if u.account != "" {
		tags = "account=" + u.account
	}
	if u.bot {
		tags = irc.JoinTags(tags, "bot")
	}
	return tags
}

// modes returns the user's modes as RPL_UMODEIS (221) shows them.
func (u *user) modes() string {
	m := "+"
	for _, f := range []struct {
		on   bool
		name string
	}{{u.bot, "B"}, {u.invisible, "i"}, {u.oper, "o"}} {
		if f.on {
			m += f.name
		}
	}
	return m
}

// whoFlags returns the user's state as WHO shows it.
func (u *user) whoFlags() string {
	f := "H"
	if u.away != "" {
		f = "G"
	}
	if u.oper {
		f += "*"
	}
	if u.bot {
		f += "B"
	}
	return f
}

// findUser returns the user with a nick, or nil.
func (s *core) findUser(nick string) *user { return s.users[irc.Fold(nick)] }

// canSee reports whether one user may know that another is online: they share a room, or the other
// is not invisible.
func (u *user) canSee(other *user) bool {
	if u == other || u.oper || !other.invisible {
		return true
	}
	for r := range other.rooms {
		if u.rooms[r] != nil {
			return true
		}
	}
	return false
}

// eachNeighbour calls f once for u and for every user that shares a room with u.
func (s *core) eachNeighbour(u *user, f func(*user)) {
	s.lastStamp++
	u.walkStamp = s.lastStamp
	f(u)
	for r := range u.rooms {
		for other := range r.members {
			if other.walkStamp != s.lastStamp {
				other.walkStamp = s.lastStamp
				f(other)
			}
		}
	}
}

// notifyNeighbours notifies a user's neighbours, and the sessions with extended-monitor that
// monitor it.
func (s *core) notifyNeighbours(u *user, n *notification) {
	s.eachNeighbour(u, n.sendToUser)
	for session := range s.monitors[irc.Fold(u.nick)] {
		if session.user != nil && session.user.walkStamp != s.lastStamp && session.has(irc.CapExtendedMonitor) {
			n.sendTo(session)
		}
	}
}

// detachLocked removes a session from its user, and quits the user if it was the last session. The
// caller holds mu.
func (s *core) detachLocked(session *session, reason string) {
	u := session.user
	for i, other := range u.sessions {
		if other == session {
			u.sessions = append(u.sessions[:i:i], u.sessions[i+1:]...)
			break
		}
	}
	for r := range u.rooms {
		r.unsubscribeLocked(session)
	}
	for _, f := range session.directs {
		f.unsubscribeLocked(session)
	}
	s.removeMonitors(session)
	if len(u.sessions) == 0 {
		s.quitLocked(u, reason)
	}
}

// quitLocked removes a user without sessions. The caller holds mu.
func (s *core) quitLocked(u *user, reason string) {
	quit := s.userNotification(u, nil, "QUIT", reason)
	s.eachNeighbour(u, func(other *user) {
		if other != u {
			quit.sendToUser(other)
		}
	})
	s.whowas.add(u, s.now)
	s.notifyMonitors(u.nick, irc.RplMonOffline, u.nick)
	for r := range u.rooms {
		r.removeMember(u)
	}
	delete(s.users, irc.Fold(u.nick))
}
