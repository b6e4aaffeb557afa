package chat

import (
	"time"

	"weir/chat/irc"
)

// user is somebody who is there, by one session or several. Guarded by Service.mu.
type user struct {
	nick, name, host, real string
	source                 string // nick!name@host
	account                string // "" for none
	away                   string // "" when not
	bot, invisible, oper   bool
	sessions               []*session
	rooms                  map[*room]*member
	invited                map[*room]bool
	metadata               map[string]string // see metadata.go; nil: not yet read
	since, spoke           time.Time
	stamp                  uint64 // of the last walk that met it
	// what others are told if nobody adopts a session of it: see settle
	parting string
}

func (u *user) resource() { u.source = u.nick + "!" + u.name + "@" + u.host }

// tags are those of what the user says: its account, and whether it is a bot. "" where there is
// none.
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

// modes are the user's modes as 221 shows them.
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

// flags are the user's state as WHO shows it.
func (u *user) flags() string {
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

// find is the user of a nick, nil if there is none.
func (s *Service) find(nick string) *user { return s.users[irc.Fold(nick)] }

// sees says whether one user may know that the other is there: by a room that both are in, or
// because the other is not invisible.
func (u *user) sees(other *user) bool {
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

// neighbours calls f for every user that shares a room with u, and u, once.
func (s *Service) neighbours(u *user, f func(*user)) {
	s.stamp++
	u.stamp = s.stamp
	f(u)
	for r := range u.rooms {
		for other := range r.members {
			if other.stamp != s.stamp {
				other.stamp = s.stamp
				f(other)
			}
		}
	}
}

// spread tells a user's neighbours, and those who watch it and know extended-monitor.
func (s *Service) spread(u *user, n *news) {
	s.neighbours(u, n.to)
	for session := range s.monitors[irc.Fold(u.nick)] {
		if session.user != nil && session.user.stamp != s.stamp && session.has(irc.CapExtendedMonitor) {
			n.tell(session)
		}
	}
}

// bid takes a session out of its user, and the user out of everything when it was the last.
func (s *Service) bid(session *session, why string) {
	u := session.user
	for i, other := range u.sessions {
		if other == session {
			u.sessions = append(u.sessions[:i:i], u.sessions[i+1:]...)
			break
		}
	}
	for r := range u.rooms {
		r.stand(session)
	}
	for _, f := range session.direct {
		f.stand(session)
	}
	s.unmonitor(session)
	if len(u.sessions) == 0 {
		s.quit(u, why)
	}
}

// quit takes a user without sessions out of everything.
func (s *Service) quit(u *user, why string) {
	quit := s.news(u, nil, "QUIT", why)
	s.neighbours(u, func(other *user) {
		if other != u {
			quit.to(other)
		}
	})
	s.leavers.add(u, s.o.Now())
	s.watchers(u.nick, irc.RplMonOffline, u.nick)
	for r := range u.rooms {
		r.remove(u)
	}
	delete(s.users, irc.Fold(u.nick))
}
