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
		s.num(irc.ErrNoNick, "No nickname given")
	case !irc.ValidNick(nick):
		s.num(irc.ErrErroneusNick, nick, "Erroneous nickname")
	case s.user == nil && s.login.Account != nil: // it will have its account's name
		s.reg.Nick = nick
		s.tryRegister()
	case s.user == nil && (s.reg.Negotiating || strings.Contains(s.reg.Pass, ":")):
		// it may log in yet
		s.reg.Nick = nick
		s.tryRegister()
	case s.user != nil && s.user.account != "" && irc.Fold(nick) != irc.Fold(s.user.account):
		s.num(irc.ErrErroneusNick, nick, "Who is logged in is called like his account")
	case s.svc.taken(nick, s):
		s.num(irc.ErrNickInUse, nick, "Nickname is already in use")
	case s.user != nil && s.isBannedAs(nick):
		s.num(irc.ErrErroneusNick, nick, "This nickname is banned")
	case s.user == nil:
		s.reg.Nick = nick
		s.tryRegister()
	case nick != s.user.nick:
		s.rename(nick)
	}
}

// isBannedAs says whether a ban of the server would keep the session's user out, if it were called
// so.
func (s *session) isBannedAs(nick string) bool {
	c := account.Client{Account: s.user.account, Addr: s.peer.Addr, Mask: nick + "!" + s.user.name + "@" + s.user.host}
	_, banned := s.svc.accounts.Banned(c, s.svc.o.Now())
	return banned
}

// rename gives the session's user another nick.
func (s *session) rename(nick string) {
	svc, u := s.svc, s.user
	change := svc.news(u, s, "NICK", nick)
	folded := irc.Fold(nick) != irc.Fold(u.nick)
	if folded {
		svc.leavers.add(u, svc.o.Now())
		svc.watchers(u.nick, irc.RplMonOffline, u.nick)
	}
	delete(svc.users, irc.Fold(u.nick))
	u.nick = nick
	u.resource()
	svc.users[irc.Fold(nick)] = u
	svc.neighbours(u, change.to)
	if folded {
		svc.watchers(nick, irc.RplMonOnline, u.source)
	}
}

func (s *session) cmdSetname(m *irc.Message) {
	if real := m.Params[0]; real == "" || len(real) > irc.MaxReal {
		s.fail("SETNAME", "INVALID_REALNAME", "A name has 1 to "+itoa(irc.MaxReal)+" bytes")
	} else {
		s.user.real = real
		change := s.svc.news(s.user, s, "SETNAME", real)
		change.need = irc.CapSetname
		s.svc.spread(s.user, change)
	}
}

func (s *session) cmdAway(m *irc.Message) {
	text := irc.Cut(irc.Param(m, 0), irc.MaxAway)
	if s.user == nil {
		if s.has(irc.CapPreAway) {
			s.away = text
		} else {
			s.num(irc.ErrNotRegistered, "You have not registered")
		}
		return
	}
	s.setAway(text)
}

// setAway says that the user is away; "" that it is back.
func (s *session) setAway(text string) {
	u := s.user
	if text == "*" { // draft/pre-away: away, with nothing to say
		text = "Away"
	}
	var params []string
	if text == "" {
		s.num(irc.RplUnaway, "You are no longer marked as being away")
	} else {
		s.num(irc.RplNowAway, "You have been marked as being away")
		params = []string{text}
	}
	if u.away == text {
		return
	}
	u.away = text
	change := s.svc.news(u, s, "AWAY", params...)
	change.need, change.quiet = irc.CapAwayNotify, true
	s.svc.spread(u, change)
}

func (s *session) cmdIson(m *irc.Message) {
	var there []string
	for nick := range strings.FieldsSeq(strings.Join(m.Params, " ")) {
		if u := s.svc.find(nick); u != nil {
			there = append(there, u.nick)
		}
	}
	s.num(irc.RplIson, strings.Join(there, " "))
}

func (s *session) cmdUserhost(m *irc.Message) {
	var all []string
	for _, nick := range m.Params[:min(5, len(m.Params))] {
		if u := s.svc.find(nick); u != nil {
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
	s.num(irc.RplUserhost, strings.Join(all, " "))
}
