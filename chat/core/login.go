package core

import (
	"cmp"
	"errors"
	"net/netip"
	"strings"

	"weir/chat/account"
	"weir/chat/irc"
	"weir/chat/log"
)

// saslExchange is a SASL exchange in progress.
type saslExchange struct {
	mechanism string
	response  irc.SASLMessage
	scram     *account.Scram
	// set once SCRAM succeeded; the client must still acknowledge the server's proof by "+"
	login account.Login
}

// maxFailures limits the failed logins of a connection; the last one closes it.
const maxFailures = 5

func (s *Session) cmdAuthenticate(m *irc.Message) {
	word := m.Params[0]
	switch {
	case s.login.Account != nil && s.sasl == nil:
		s.numeric(irc.ErrSASLAlready, "You have already authenticated using SASL")
	case word == "*":
		s.sasl = nil
		s.numeric(irc.ErrSASLAborted, "SASL authentication aborted")
	case s.sasl == nil:
		s.startSASL(strings.ToUpper(word))
	default:
		answer, whole, err := s.sasl.response.Add(word)
		switch {
		case err != nil && len(word) > 400:
			s.sasl = nil
			s.numeric(irc.ErrSASLTooLong, "SASL message too long")
		case err != nil:
			s.refuseLogin("*", account.ErrMalformed)
		case whole && s.sasl.login.Account != nil:
			s.logIn(s.sasl.login)
		case whole:
			s.startTask(func() { s.continueSASL(answer) }) // slow: a hash, or a file
		}
	}
}

func (s *Session) startSASL(mechanism string) {
	x := &saslExchange{mechanism: mechanism}
	switch mechanism {
	case "PLAIN", "EXTERNAL":
	case "SCRAM-SHA-256":
		x.scram = s.svc.env.Accounts.Scram()
	default:
		s.numeric(irc.RplSASLMechs, "PLAIN,EXTERNAL,SCRAM-SHA-256", "are available SASL mechanisms")
		s.numeric(irc.ErrSASLFail, "SASL authentication failed")
		return
	}
	s.sasl = x
	s.replies = append(s.replies, "AUTHENTICATE +\r\n"...)
}

// continueSASL handles a complete response of the client. It is a task.
func (s *Session) continueSASL(answer []byte) {
	x := s.sasl
	var login account.Login
	var more string
	var err error
	done, who := true, "*"
	switch x.mechanism {
	case "PLAIN":
		var password string
		if who, password, err = account.SplitPlain(answer); err == nil {
			login, err = s.checkPassword(who, password)
		}
	case "EXTERNAL":
		s.task.await(func() { login, err = s.svc.env.Accounts.External(string(answer), s.peer.Fingerprint) })
	default:
		s.task.await(func() { more, done, login, err = x.scram.Step(string(answer)) })
		// checked for good and bad proofs alike, or the answer would reveal whether the proof is
		// right
		if who = x.scram.Key(); err != nil || done {
			err = cmp.Or(s.checkLoginLimits(who), err)
		}
	}
	if err != nil {
		s.refuseLogin(who, err)
		return
	}
	if more != "" {
		for _, part := range irc.SASLParts([]byte(more)) {
			s.replies = append(s.replies, "AUTHENTICATE "+part+"\r\n"...)
		}
	}
	switch {
	case !done:
	case more != "": // SCRAM: the client ends the exchange by "+"
		x.login = login
	default:
		s.logIn(login)
	}
}

// refuseLogin ends a failed exchange, and the connection after maxFailures.
func (s *Session) refuseLogin(who string, err error) {
	s.sasl = nil
	s.logRefusedLogin(who, err)
	s.numeric(irc.ErrSASLFail, loginRefusal("SASL authentication failed", err))
	s.countFailedLogin(who, err)
}

func (s *Session) logRefusedLogin(who string, err error) {
	s.svc.logRefusedLogin(who, s.peer.Addr, err)
}

// logRefusedLogin counts and logs a refused login. Names without an account are not logged, because
// they may be passwords typed into the wrong field.
func (s *Core) logRefusedLogin(who string, from netip.Addr, err error) {
	s.counts.LoginsFailed++
	name := account.Key(who)
	if s.env.Accounts.Lookup(name) == nil {
		name = "unknown"
	}
	s.fixed.Log.Info("login refused", "account", name, "address", from, "error", err)
}

// logIn completes a login.
func (s *Session) logIn(login account.Login) {
	s.sasl = nil
	if s.svc.isRemoved(login) { // since SCRAM proved the password
		s.refuseLogin(login.Name, account.ErrLoginFailed)
		return
	}
	if ban, banned := s.svc.env.Accounts.Banned(account.Client{Account: login.Name, Addr: s.peer.Addr}, s.svc.now); banned {
		s.numeric(irc.ErrBanned, "You are banned from this server: "+ban.Reason)
		s.endWithError("Banned")
		return
	}
	if s.user != nil && s.svc.isNickTaken(login.Name, s) && s.svc.findUser(login.Name) != nil {
		s.numeric(irc.ErrSASLFail, "This account is online: connect again to be one more of its sessions")
		return
	}
	s.setLogin(login)
	s.numeric(irc.RplSASLSuccess, "SASL authentication successful")
	if s.user != nil {
		s.adoptAccount(login)
	}
}

// isRemoved reports whether the account of a login was removed since the login was checked.
func (s *Core) isRemoved(login account.Login) bool {
	return login.Account != nil && s.env.Accounts.Lookup(login.Name) == nil
}

// setLogin records a login and replies.
func (s *Session) setLogin(login account.Login) {
	s.login, s.pace = login, nil
	s.svc.rememberNetwork(login.Name, s.peer.Addr)
	s.svc.counts.Logins++
	mask := s.nick() + "!*@*"
	if s.user != nil {
		mask = s.user.source
	}
	s.numeric(irc.RplLoggedIn, mask, login.Name, "You are now logged in as "+login.Name)
}

// adoptAccount turns an existing user into that of an account: nick, host and account change,
// and other clients are notified.
func (s *Session) adoptAccount(login account.Login) {
	svc, u := s.svc, s.user
	host := irc.Fold(login.Name) + ".account"
	change := svc.userNotification(u, s, "CHGHOST", u.name, host)
	change.requiredCaps = irc.CapChghost
	svc.notifyNeighbours(u, change)
	u.host, u.account, u.metadata = host, login.Name, nil
	svc.makeOperator(u, login.Name)
	u.updateSource()
	known := svc.userNotification(u, s, "ACCOUNT", login.Name)
	known.requiredCaps = irc.CapAccountNotify
	svc.notifyNeighbours(u, known)
	if u.nick != login.Name {
		s.changeNick(login.Name)
	}
	s.startTask(s.resumeAccount)
}

func (s *Session) cmdRegister(m *irc.Message) {
	name, password := m.Params[0], m.Params[2]
	if name == "*" {
		name = s.nick()
	}
	shown := irc.Word(irc.Cut(name, irc.MaxNick))
	switch {
	case s.login.Account != nil:
		s.fail("REGISTER", "ALREADY_AUTHENTICATED", shown, "You are logged in")
	case s.nick() == "*":
		s.fail("REGISTER", "NEED_NICK", "*", "Send NICK first")
	case irc.Fold(name) != irc.Fold(s.nick()) && s.svc.findUser(name) != nil:
		s.fail("REGISTER", "ACCOUNT_EXISTS", shown, "This nickname is in use")
	default:
		if err := s.svc.countRegistration(s.peer); err != nil {
			s.fail("REGISTER", "TEMPORARILY_UNAVAILABLE", shown, publicError(err))
			return
		}
		// other servers expect a mail address here; this one expects an invite
		invite := m.Params[1]
		if invite == "*" {
			invite = ""
		}
		s.startTask(func() { s.createAccount(name, password, invite) })
	}
}

// createAccount creates an account and logs in to it. It is a task.
func (s *Session) createAccount(name, password, invite string) {
	var a *account.Account
	var err error
	s.task.await(func() { a, err = s.svc.env.Accounts.Register(name, password, invite) })
	if err != nil {
		code := "TEMPORARILY_UNAVAILABLE"
		for cause, c := range map[error]string{account.ErrClosed: "TEMPORARILY_UNAVAILABLE", account.ErrInvite: "INVALID_EMAIL", account.ErrName: "BAD_ACCOUNT_NAME",
			account.ErrPassword: "WEAK_PASSWORD", account.ErrExists: "ACCOUNT_EXISTS"} {
			if errors.Is(err, cause) {
				code = c
			}
		}
		s.fail("REGISTER", code, irc.Word(irc.Cut(name, irc.MaxNick)), publicError(err))
		return
	}
	s.reply("REGISTER", "SUCCESS", a.Name, "Account created")
	// another user took the nick while the password was hashed
	if u := s.svc.findUser(a.Name); s.user != nil && u != nil && u != s.user {
		s.reply("NOTE", "REGISTER", "NICKNAME_IN_USE", a.Name, "This nickname was taken meanwhile: log in when it is free")
		return
	}
	s.setLogin(account.Login{Account: a})
	if s.user != nil {
		s.adoptAccount(s.login)
	}
}

func (s *Session) cmdVerify(m *irc.Message) {
	name := irc.Word(irc.Cut(m.Params[0], irc.MaxNick))
	if s.login.Account != nil {
		s.fail("VERIFY", "ALREADY_AUTHENTICATED", name, "You are logged in")
		return
	}
	s.fail("VERIFY", "INVALID_CODE", name, "Accounts of this server need no verification")
}

// publicError returns the text of an error as users may read it: without paths of this machine.
func publicError(err error) string {
	switch {
	case log.IsFull(err):
		return "the disk is full"
	case errors.Is(err, log.ErrFailing):
		return "the disk is failing"
	}
	lines := strings.Split(err.Error(), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimPrefix(strings.TrimPrefix(line, "account: "), "chat/log: ")
	}
	text := strings.Join(lines, "; ")
	if strings.Contains(text, "/") {
		return "internal error of the server; its log has the reason"
	}
	return text
}
