package core

import (
	"errors"
	"time"

	"weir/chat/account"
	"weir/chat/irc"
)

// hasOperatorRole reports whether there is an account that has the operator role now.
func (s *Core) hasOperatorRole(name string) bool {
	a := s.env.Accounts.Lookup(name)
	return a != nil && a.Role.AtLeast(account.Operator)
}

// makeOperator makes the user an operator if it is none, and the account has that role.
func (s *Core) makeOperator(u *user, account string) {
	if !u.oper && s.hasOperatorRole(account) {
		u.oper, u.operAccount = true, account
	}
}

// revokeOperator ends the rights of an operator whose account has lost the role, unless its own
// account has it.
func (s *Core) revokeOperator(u *user) {
	if !u.oper || s.hasOperatorRole(u.operAccount) {
		return
	}
	u.oper, u.operAccount = false, ""
	if s.makeOperator(u, u.account); !u.oper {
		s.userNotification(u, nil, "MODE", u.nick, "-o").sendToUser(u)
	}
}

var errNotOperator = errors.New("chat: the account is no operator's")

// cmdOper handles OPER, for operators whose client cannot log in. Sessions that log in to an
// operator's account need no OPER.
func (s *Session) cmdOper(m *irc.Message) {
	name, password := m.Params[0], m.Params[1]
	s.startTask(func() {
		login, err := s.checkPassword(name, password)
		if err != nil || !s.svc.hasOperatorRole(login.Name) || s.user == nil {
			if err == nil {
				err = errNotOperator
			}
			s.logRefusedLogin(name, err)
			if asThrottled(err) != nil {
				s.numeric(irc.ErrPasswdMismatch, passwordRefusal(err))
			} else {
				s.numeric(irc.ErrPasswdMismatch, "Password incorrect")
			}
			s.countFailedLogin(name, err)
			return
		}
		s.user.oper, s.user.operAccount = true, login.Name
		s.numeric(irc.RplYoureOper, "You are now an IRC operator")
		s.svc.userNotification(s.user, s, "MODE", s.user.nick, "+o").sendToUser(s.user)
	})
}

// checkOperator reports whether the user is a server operator. If not, it replies with an error.
func (s *Session) checkOperator() bool {
	if !s.user.oper {
		s.numeric(irc.ErrNoPrivileges, "Permission Denied- You're not an IRC operator")
	}
	return s.user.oper
}

func (s *Session) cmdKill(m *irc.Message) {
	if !s.checkOperator() {
		return
	}
	u := s.svc.findUser(m.Params[0])
	if u == nil {
		s.numeric(irc.ErrNoSuchNick, irc.Cut(m.Params[0], irc.MaxNick), "No such nick")
		return
	}
	s.svc.killUser(u, "Killed ("+s.user.nick+": "+irc.Cut(irc.Param(m, 1), 200)+")")
}

// killUser disconnects all sessions of a user.
func (s *Core) killUser(u *user, reason string) {
	for _, session := range u.sessions {
		session.conn.Send([]byte("ERROR :Closing link (" + reason + ")\r\n"))
		session.killReason = reason
		session.conn.Close()
	}
}

// cmdKline bans an account, address or mask from the server: KLINE [MINUTES] PATTERN [:REASON].
// Without parameters it lists the bans.
func (s *Session) cmdKline(m *irc.Message) {
	if !s.checkOperator() {
		return
	}
	if len(m.Params) == 0 {
		for _, b := range s.svc.env.Accounts.Bans() {
			s.reply("NOTICE", s.nick(), b.Pattern+" by "+b.By+": "+b.Reason)
		}
		s.reply("NOTICE", s.nick(), "End of bans")
		return
	}
	args, until := m.Params, time.Time{}
	if n := atoi(args[0]); n > 0 && len(args) > 1 && itoa(n) == args[0] {
		until = s.svc.now.Add(time.Duration(min(n, 1<<24)) * time.Minute)
		args = args[1:]
	}
	reason := ""
	if len(args) > 1 {
		reason = args[1]
	}
	ban := account.Ban{Pattern: args[0], Reason: reason, By: s.user.nick, Until: until}
	s.startTask(func() {
		var err error
		s.task.await(func() { ban, err = s.svc.env.Accounts.Ban(ban) })
		if err != nil {
			s.fail("KLINE", "INVALID_BAN", publicError(err))
		} else {
			s.reply("NOTICE", s.nick(), "Banned "+ban.Pattern)
		}
		s.svc.enforceBans()
	})
}

func (s *Session) cmdUnkline(m *irc.Message) {
	if !s.checkOperator() {
		return
	}
	s.startTask(func() {
		var err error
		s.task.await(func() { err = s.svc.env.Accounts.Unban(m.Params[0]) })
		if err != nil {
			s.fail("UNKLINE", "UNKNOWN_BAN", publicError(err))
		} else {
			s.reply("NOTICE", s.nick(), "Unbanned "+m.Params[0])
		}
	})
}

// enforceBans disconnects users that were banned, or whose account was removed, since its
// last call, by any process. Operators whose account has lost that role become ordinary users.
func (s *Core) enforceBans() {
	generation := s.env.Accounts.Generation()
	if generation == s.accountGeneration {
		return
	}
	s.accountGeneration = generation
	for _, u := range s.users {
		for _, session := range u.sessions {
			c := account.Client{Account: u.account, Addr: session.peer.Addr, Mask: u.source}
			if ban, banned := s.env.Accounts.Banned(c, s.now); banned {
				s.killUser(u, "Banned: "+ban.Reason)
				break
			}
		}
		if u.account != "" && s.env.Accounts.Lookup(u.account) == nil {
			s.killUser(u, "Your account was removed")
		}
		s.revokeOperator(u)
	}
}
