package chat

import (
	"errors"
	"time"

	"weir/chat/account"
	"weir/chat/irc"
)

// operates says whether the session's account is an operator's.
func (s *session) operates() bool {
	return s.login.Account != nil && s.login.Role.AtLeast(account.Operator)
}

var errNotOperator = errors.New("chat: the account is no operator's")

// cmdOper is for operators whose client cannot log in; the others are operators from the start.
func (s *session) cmdOper(m *irc.Message) {
	name, password := m.Params[0], m.Params[1]
	s.slow(func() {
		login, err := s.plain(name, password)
		s.svc.mu.Lock()
		defer s.svc.unlock()
		if err != nil || !login.Role.AtLeast(account.Operator) || s.user == nil {
			if err == nil {
				err = errNotOperator
			}
			s.noteRefusal(name, err)
			if throttled(err) != nil {
				s.num(irc.ErrPasswdMismatch, wrongLogin(err))
			} else {
				s.num(irc.ErrPasswdMismatch, "Password incorrect")
			}
			s.loginFailed(name, err)
			return
		}
		s.user.oper = true
		s.num(irc.RplYoureOper, "You are now an IRC operator")
		s.svc.news(s.user, s, "MODE", s.user.nick, "+o").to(s.user)
	})
}

// isOper says whether the user is an operator, and tells it if not.
func (s *session) isOper() bool {
	if !s.user.oper {
		s.num(irc.ErrNoPrivileges, "Permission Denied- You're not an IRC operator")
	}
	return s.user.oper
}

func (s *session) cmdKill(m *irc.Message) {
	if !s.isOper() {
		return
	}
	u := s.svc.find(m.Params[0])
	if u == nil {
		s.num(irc.ErrNoSuchNick, irc.Cut(m.Params[0], irc.MaxNick), "No such nick")
		return
	}
	s.svc.kill(u, "Killed ("+s.user.nick+": "+irc.Cut(irc.Param(m, 1), 200)+")")
}

// kill ends all sessions of a user.
func (s *Service) kill(u *user, why string) {
	for _, session := range u.sessions {
		session.conn.Send([]byte("ERROR :Closing link (" + why + ")\r\n"))
		session.killed = why
		session.conn.Close()
	}
}

// cmdKline keeps an account, an address or a mask out of the server: KLINE [MINUTES] PATTERN
// [:REASON]; without any it lists who is.
func (s *session) cmdKline(m *irc.Message) {
	if !s.isOper() {
		return
	}
	if len(m.Params) == 0 {
		for _, b := range s.svc.accounts.Bans() {
			s.say("NOTICE", s.nick(), b.Pattern+" by "+b.By+": "+b.Reason)
		}
		s.say("NOTICE", s.nick(), "End of bans")
		return
	}
	args, until := m.Params, time.Time{}
	if n := number(args[0]); n > 0 && len(args) > 1 && itoa(n) == args[0] {
		until = s.svc.o.Now().Add(time.Duration(min(n, 1<<24)) * time.Minute)
		args = args[1:]
	}
	reason := ""
	if len(args) > 1 {
		reason = args[1]
	}
	ban := account.Ban{Pattern: args[0], Reason: reason, By: s.user.nick, Until: until}
	s.slow(func() {
		ban, err := s.svc.accounts.Ban(ban)
		s.svc.mu.Lock()
		if err != nil {
			s.fail("KLINE", "INVALID_BAN", publicError(err))
		} else {
			s.say("NOTICE", s.nick(), "Banned "+ban.Pattern)
		}
		s.svc.unlock()
		s.svc.enforce()
	})
}

func (s *session) cmdUnkline(m *irc.Message) {
	if !s.isOper() {
		return
	}
	s.slow(func() {
		err := s.svc.accounts.Unban(m.Params[0])
		s.svc.mu.Lock()
		defer s.svc.unlock()
		if err != nil {
			s.fail("UNKLINE", "UNKNOWN_BAN", publicError(err))
		} else {
			s.say("NOTICE", s.nick(), "Unbanned "+m.Params[0])
		}
	})
}

// enforce looks whether somebody who is there was banned, or his account removed, since it last
// did: by whatever process.
func (s *Service) enforce() {
	generation := s.accounts.Generation()
	s.mu.Lock()
	defer s.unlock()
	if generation == s.generation {
		return
	}
	s.generation = generation
	for _, u := range s.users {
		for _, session := range u.sessions {
			c := account.Client{Account: u.account, Addr: session.peer.Addr, Mask: u.source}
			if ban, banned := s.accounts.Banned(c, s.o.Now()); banned {
				s.kill(u, "Banned: "+ban.Reason)
				break
			}
		}
		if u.account != "" && s.accounts.Lookup(u.account) == nil {
			s.kill(u, "Your account was removed")
		}
	}
}
