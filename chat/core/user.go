package core

import (
	"strings"
	"time"

	"weir/chat/account"
	"weir/chat/irc"
)

// user is an online user with one or more sessions.
type user struct {
	nick, name, host, realname string
	source                     string // nick!name@host
	account                    string // "": a guest
	away                       string // away message; "": not away
	bot, invisible, oper       bool
	operAccount                string // account whose role makes it an operator; "": none
	sessions                   []*Session
	rooms                      map[*room]*member
	invited                    map[*room]bool
	metadata                   map[string]string // see metadata.go; nil: not yet loaded
	connectedAt, lastSpokeAt   time.Time
	// Core.lastStamp of the last walk over users that visited it
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
func (s *Core) findUser(nick string) *user { return s.users[irc.Fold(nick)] }

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

// eachNeighbour calls f once for u and for every user that shares a room with u. It returns their
// number.
func (s *Core) eachNeighbour(u *user, f func(*user)) (calls int) {
	s.lastStamp++
	u.walkStamp = s.lastStamp
	f(u)
	calls++
	for r := range u.rooms {
		for other := range r.members {
			if other.walkStamp != s.lastStamp {
				other.walkStamp = s.lastStamp
				f(other)
				calls++
			}
		}
	}
	return calls
}

// notifyNeighbours notifies a user's neighbours, and the sessions with extended-monitor that
// monitor it. The requester, which must exist, is charged for them.
func (s *Core) notifyNeighbours(u *user, n *notification) {
	n.requester.chargeItems(s.eachNeighbour(u, n.sendToUser))
	for session := range s.monitors[irc.Fold(u.nick)] {
		if session.user != nil && session.user.walkStamp != s.lastStamp && session.has(irc.CapExtendedMonitor) {
			n.sendTo(session)
		}
	}
}

// detach removes a session from its user, and quits the user if it was the last session.
func (s *Core) detach(session *Session, reason string) {
	u := session.user
	for i, other := range u.sessions {
		if other == session {
			u.sessions = append(u.sessions[:i:i], u.sessions[i+1:]...)
			break
		}
	}
	for r := range u.rooms {
		r.unsubscribe(session)
	}
	for _, f := range session.directs {
		f.unsubscribe(session)
	}
	s.removeMonitors(session)
	if len(u.sessions) == 0 {
		s.quit(u, reason)
	}
}

// quit removes a user without sessions.
func (s *Core) quit(u *user, reason string) {
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

func (s *Session) cmdNick(m *irc.Message) {
	nick := irc.Param(m, 0)
	switch {
	case nick == "":
		s.numeric(irc.ErrNoNick, "No nickname given")
	case !irc.ValidNick(nick):
		s.numeric(irc.ErrErroneusNick, nick, "Erroneous nickname")
	case s.user == nil && s.login.Account != nil: // it will be named like its account
		s.registration.Nick = nick
		s.tryRegister()
	case s.user == nil && (s.registration.Negotiating || strings.Contains(s.registration.Pass, ":")):
		// it may still log in
		s.registration.Nick = nick
		s.tryRegister()
	case s.user != nil && s.user.account != "" && irc.Fold(nick) != irc.Fold(s.user.account):
		s.numeric(irc.ErrErroneusNick, nick, "Your nickname is the name of your account")
	case s.svc.isNickTaken(nick, s):
		s.numeric(irc.ErrNickInUse, nick, "Nickname is already in use")
	case s.user != nil && s.isBannedAs(nick):
		s.numeric(irc.ErrErroneusNick, nick, "This nickname is banned")
	case s.user == nil:
		s.registration.Nick = nick
		s.tryRegister()
	case nick != s.user.nick:
		s.changeNick(nick)
	}
}

// isBannedAs reports whether a server ban matches the session's user under another nick.
func (s *Session) isBannedAs(nick string) bool {
	c := account.Client{Account: s.user.account, Addr: s.peer.Addr, Mask: nick + "!" + s.user.name + "@" + s.user.host}
	_, banned := s.svc.env.Accounts.Banned(c, s.svc.now)
	return banned
}

// changeNick changes the nick of the session's user.
func (s *Session) changeNick(nick string) {
	svc, u := s.svc, s.user
	change := svc.userNotification(u, s, "NICK", nick)
	folded := irc.Fold(nick) != irc.Fold(u.nick)
	if folded {
		svc.whowas.add(u, svc.now)
		svc.notifyMonitors(u.nick, irc.RplMonOffline, u.nick)
	}
	delete(svc.users, irc.Fold(u.nick))
	u.nick = nick
	u.updateSource()
	svc.users[irc.Fold(nick)] = u
	s.chargeItems(svc.eachNeighbour(u, change.sendToUser))
	if folded {
		svc.notifyMonitors(nick, irc.RplMonOnline, u.source)
	}
}

func (s *Session) cmdSetname(m *irc.Message) {
	if real := m.Params[0]; real == "" || len(real) > irc.MaxReal {
		s.fail("SETNAME", "INVALID_REALNAME", "A real name has 1 to "+itoa(irc.MaxReal)+" bytes")
	} else {
		s.user.realname = real
		change := s.svc.userNotification(s.user, s, "SETNAME", real)
		change.requiredCaps = irc.CapSetname
		s.svc.notifyNeighbours(s.user, change)
	}
}

func (s *Session) cmdAway(m *irc.Message) {
	text := irc.Cut(irc.Param(m, 0), irc.MaxAway)
	if s.user == nil {
		if s.has(irc.CapPreAway) {
			s.preAway = text
		} else {
			s.numeric(irc.ErrNotRegistered, "You have not registered")
		}
		return
	}
	s.setAway(text)
}

// setAway marks the user as away; "" marks it as back.
func (s *Session) setAway(text string) {
	u := s.user
	if text == "*" { // draft/pre-away: away without a text
		text = "Away"
	}
	var params []string
	if text == "" {
		s.numeric(irc.RplUnaway, "You are no longer marked as being away")
	} else {
		s.numeric(irc.RplNowAway, "You have been marked as being away")
		params = []string{text}
	}
	if u.away == text {
		return
	}
	u.away = text
	change := s.svc.userNotification(u, s, "AWAY", params...)
	change.requiredCaps, change.skipRequester = irc.CapAwayNotify, true
	s.svc.notifyNeighbours(u, change)
}

func (s *Session) cmdIson(m *irc.Message) {
	var online []string
	for nick := range strings.FieldsSeq(strings.Join(m.Params, " ")) {
		if u := s.svc.findUser(nick); u != nil {
			online = append(online, u.nick)
		}
	}
	s.numeric(irc.RplIson, strings.Join(online, " "))
}

func (s *Session) cmdUserhost(m *irc.Message) {
	var all []string
	for _, nick := range m.Params[:min(5, len(m.Params))] {
		if u := s.svc.findUser(nick); u != nil {
			op, away := "", "+"
			if u.oper {
				op = "*"
			}
			if u.away != "" {
				away = "-"
			}
			all = append(all, u.nick+op+"="+away+u.name+"@"+u.host)
		}
	}
	s.numeric(irc.RplUserhost, strings.Join(all, " "))
}

// whowasHistorySize is how many users that left, or changed their nick, WHOWAS remembers. They are
// not kept across restarts.
const whowasHistorySize = 500

// maxWhowasReplies limits the users that WHOWAS lists for one nick.
const maxWhowasReplies = 16

// whowasEntry is a user at the time it left.
type whowasEntry struct {
	foldedNick             string // folded nick
	nick, name, host, real string
	leftAt                 time.Time
}

// whowasHistory is a ring buffer of the latest users that left.
type whowasHistory struct {
	entries []whowasEntry
	next    int // index of the next entry, once the buffer is full
}

func (l *whowasHistory) add(u *user, at time.Time) {
	g := whowasEntry{irc.Fold(u.nick), u.nick, u.name, u.host, u.realname, at}
	if len(l.entries) < whowasHistorySize {
		l.entries = append(l.entries, g)
		return
	}
	l.entries[l.next] = g
	l.next = (l.next + 1) % whowasHistorySize
}

// eachNamed calls f for the entries of a nick, the latest first, until f returns false.
func (l *whowasHistory) eachNamed(key string, f func(whowasEntry) bool) {
	for i := range l.entries {
		g := l.entries[(l.next-1-i+2*len(l.entries))%len(l.entries)]
		if g.foldedNick == key && !f(g) {
			return
		}
	}
}

// cmdWhowas answers WHOWAS NICK[,NICK...] [COUNT].
func (s *Session) cmdWhowas(m *irc.Message) {
	nicks := irc.Param(m, 0)
	if nicks == "" {
		s.numeric(irc.ErrNoNick, "No nickname given")
		return
	}
	for i, nick := range strings.Split(nicks, ",") {
		if i == maxTargets {
			break
		}
		s.sendWhowas(nick, atoi(irc.Param(m, 1)))
	}
	s.numeric(irc.RplEndOfWhowas, irc.Cut(nicks, irc.MaxTopic), "End of WHOWAS")
}

// sendWhowas lists the last so many users of a nick; the maximum if most is not positive.
func (s *Session) sendWhowas(nick string, limit int) {
	if limit <= 0 || limit > maxWhowasReplies {
		limit = maxWhowasReplies
	}
	n := 0
	s.svc.whowas.eachNamed(irc.Fold(nick), func(g whowasEntry) bool {
		s.numeric(irc.RplWhowasUser, g.nick, g.name, g.host, "*", g.real)
		s.numeric(irc.RplWhoisServer, g.nick, s.svc.fixed.Name, g.leftAt.UTC().Format(time.ANSIC))
		n++
		return n != limit
	})
	if n == 0 {
		s.numeric(irc.ErrWasNoSuchNick, irc.Cut(nick, irc.MaxNick), "There was no such nickname")
	}
}
