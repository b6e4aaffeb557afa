package chat

import (
	"strings"

	"weir/chat/account"
	"weir/chat/irc"
)

func (s *session) cmdNick(m *irc.Message) {
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
func (s *session) isBannedAs(nick string) bool {
	c := account.Client{Account: s.user.account, Addr: s.peer.Addr, Mask: nick + "!" + s.user.name + "@" + s.user.host}
	_, banned := s.svc.env.accounts.Banned(c, s.svc.now)
	return banned
}

// changeNick changes the nick of the session's user.
func (s *session) changeNick(nick string) {
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
	svc.eachNeighbour(u, change.sendToUser)
	if folded {
		svc.notifyMonitors(nick, irc.RplMonOnline, u.source)
	}
}

func (s *session) cmdSetname(m *irc.Message) {
	if real := m.Params[0]; real == "" || len(real) > irc.MaxReal {
		s.fail("SETNAME", "INVALID_REALNAME", "A real name has 1 to "+itoa(irc.MaxReal)+" bytes")
	} else {
		s.user.realname = real
		change := s.svc.userNotification(s.user, s, "SETNAME", real)
		change.requiredCaps = irc.CapSetname
		s.svc.notifyNeighbours(s.user, change)
	}
}

func (s *session) cmdAway(m *irc.Message) {
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
func (s *session) setAway(text string) {
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

func (s *session) cmdIson(m *irc.Message) {
	var online []string
	for nick := range strings.FieldsSeq(strings.Join(m.Params, " ")) {
		if u := s.svc.findUser(nick); u != nil {
			online = append(online, u.nick)
		}
	}
	s.numeric(irc.RplIson, strings.Join(online, " "))
}

func (s *session) cmdUserhost(m *irc.Message) {
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
