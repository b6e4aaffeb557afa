package chat

import (
	"cmp"
	"errors"
	"net/netip"
	"strings"
	"syscall"

	"weir/chat/account"
	"weir/chat/irc"
	"weir/chat/log"
)

// exchange is a SASL exchange under way.
type exchange struct {
	mechanism string
	answer    irc.Answer
	scram     *account.Scram
	login     account.Login // set: all is proven, and the client says "+" to the server's proof
}

// maxFailures is how many logins of a connection may fail before it is closed.
const maxFailures = 5

func (s *session) cmdAuthenticate(m *irc.Message) {
	word := m.Params[0]
	switch {
	case s.login.Account != nil && s.sasl == nil:
		s.num(irc.ErrSASLAlready, "You have already authenticated using SASL")
	case word == "*":
		s.sasl = nil
		s.num(irc.ErrSASLAborted, "SASL authentication aborted")
	case s.sasl == nil:
		s.beginSASL(strings.ToUpper(word))
	default:
		answer, whole, err := s.sasl.answer.Add(word)
		switch {
		case err != nil && len(word) > 400:
			s.sasl = nil
			s.num(irc.ErrSASLTooLong, "SASL message too long")
		case err != nil:
			s.refuseLogin("*", account.ErrMalformed)
		case whole && s.sasl.login.Account != nil:
			s.logIn(s.sasl.login)
		case whole:
			s.slow(func() { s.stepSASL(answer) }) // a hash, or a file
		}
	}
}

func (s *session) beginSASL(mechanism string) {
	x := &exchange{mechanism: mechanism}
	switch mechanism {
	case "PLAIN", "EXTERNAL":
	case "SCRAM-SHA-256":
		x.scram = s.svc.accounts.Scram()
	default:
		s.num(irc.RplSASLMechs, "PLAIN,EXTERNAL,SCRAM-SHA-256", "are available SASL mechanisms")
		s.num(irc.ErrSASLFail, "SASL authentication failed")
		return
	}
	s.sasl = x
	s.out = append(s.out, "AUTHENTICATE +\r\n"...)
}

// stepSASL takes a whole answer. It runs at the desk.
func (s *session) stepSASL(answer []byte) {
	x := s.sasl
	var login account.Login
	var more string
	var err error
	done, who := true, "*"
	switch x.mechanism {
	case "PLAIN":
		var password string
		if who, password, err = account.SplitPlain(answer); err == nil {
			login, err = s.plain(who, password)
		}
	case "EXTERNAL":
		login, err = s.svc.accounts.External(string(answer), s.peer.Fingerprint)
	default:
		more, done, login, err = x.scram.Step(string(answer))
		// whatever the proof: otherwise the answer would say whether it is right
		if who = x.scram.Key(); err != nil || done {
			err = cmp.Or(s.mayTry(who), err)
		}
	}
	s.svc.mu.Lock()
	defer s.svc.unlock()
	if err != nil {
		s.refuseLogin(who, err)
		return
	}
	if more != "" {
		for _, part := range irc.Challenge([]byte(more)) {
			s.out = append(s.out, "AUTHENTICATE "+part+"\r\n"...)
		}
	}
	switch {
	case !done:
	case more != "": // SCRAM: the client has the last word, "+"
		x.login = login
	default:
		s.logIn(login)
	}
}

// refuseLogin ends an exchange that failed, and the connection when too many did. The caller holds
// the lock.
func (s *session) refuseLogin(who string, err error) {
	s.sasl = nil
	s.noteRefusal(who, err)
	s.num(irc.ErrSASLFail, refusedAs("SASL authentication failed", err))
	s.loginFailed(who, err)
}

func (s *session) noteRefusal(who string, err error) { s.svc.noteRefusal(who, s.peer.Addr, err) }

// noteRefusal counts and logs a login that was refused. The log has no name that no account has: it
// may be a password, typed one field too early.
func (s *Service) noteRefusal(who string, from netip.Addr, err error) {
	s.counts.loginFailed.Add(1)
	name := account.Key(who)
	if s.accounts.Lookup(name) == nil {
		name = "unknown"
	}
	s.o.Log.Info("login refused", "account", name, "address", from, "error", err)
}

// logIn takes a login that ends an exchange. The caller holds the lock.
func (s *session) logIn(login account.Login) {
	s.sasl = nil
	if ban, banned := s.svc.accounts.Banned(account.Client{Account: login.Name, Addr: s.peer.Addr}, s.svc.o.Now()); banned {
		s.num(irc.ErrBanned, "You are banned from this server: "+ban.Reason)
		s.end("Banned")
		return
	}
	if s.user != nil && s.svc.taken(login.Name, s) && s.svc.find(login.Name) != nil {
		s.num(irc.ErrSASLFail, "This account is online: connect again to be one more of its sessions")
		return
	}
	s.loggedIn(login)
	s.num(irc.RplSASLSuccess, "SASL authentication successful")
	if s.user != nil {
		s.becomes(login)
	}
}

// loggedIn notes a login.
func (s *session) loggedIn(login account.Login) {
	s.login, s.pace = login, nil
	s.svc.cameFrom(login.Name, s.peer.Addr)
	s.svc.counts.logins.Add(1)
	mask := s.nick() + "!*@*"
	if s.user != nil {
		mask = s.user.source
	}
	s.num(irc.RplLoggedIn, mask, login.Name, "You are now logged in as "+login.Name)
}

// becomes has a user that is there already be that of an account: nick, host and account change, as
// others see. The caller holds the lock.
func (s *session) becomes(login account.Login) {
	svc, u := s.svc, s.user
	host := irc.Fold(login.Name) + ".account"
	change := svc.news(u, s, "CHGHOST", u.name, host)
	change.need = irc.CapChghost
	svc.spread(u, change)
	u.host, u.account, u.metadata = host, login.Name, nil
	u.oper = u.oper || login.Role.AtLeast(account.Operator)
	u.resource()
	known := svc.news(u, s, "ACCOUNT", login.Name)
	known.need = irc.CapAccountNotify
	svc.spread(u, known)
	if u.nick != login.Name {
		s.rename(login.Name)
	}
	s.slow(s.resume)
}

func (s *session) cmdRegister(m *irc.Message) {
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
	case irc.Fold(name) != irc.Fold(s.nick()) && s.svc.find(name) != nil:
		s.fail("REGISTER", "ACCOUNT_EXISTS", shown, "Somebody is called so")
	default:
		if err := s.svc.mayRegister(s.peer); err != nil {
			s.fail("REGISTER", "TEMPORARILY_UNAVAILABLE", shown, publicError(err))
			return
		}
		invite := m.Params[1] // where others ask for a mail address, we ask for an invite
		if invite == "*" {
			invite = ""
		}
		s.slow(func() { s.makeAccount(name, password, invite) })
	}
}

// makeAccount runs at the desk.
func (s *session) makeAccount(name, password, invite string) {
	a, err := s.svc.accounts.Register(name, password, invite)
	s.svc.mu.Lock()
	defer s.svc.unlock()
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
	s.say("REGISTER", "SUCCESS", a.Name, "Account created")
	// he came while the password was hashed
	if u := s.svc.find(a.Name); s.user != nil && u != nil && u != s.user {
		s.say("NOTE", "REGISTER", "NICKNAME_IN_USE", a.Name, "Somebody has taken this name meanwhile: log in when he has left")
		return
	}
	s.loggedIn(account.Login{Account: a})
	if s.user != nil {
		s.becomes(s.login)
	}
}

func (s *session) cmdVerify(m *irc.Message) {
	name := irc.Word(irc.Cut(m.Params[0], irc.MaxNick))
	if s.login.Account != nil {
		s.fail("VERIFY", "ALREADY_AUTHENTICATED", name, "You are logged in")
		return
	}
	s.fail("VERIFY", "INVALID_CODE", name, "No account waits to be verified")
}

// publicError is what users may read of an error: its text, without places on this machine.
func publicError(err error) string {
	switch {
	case errors.Is(err, log.ErrFull), errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
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
		return "the server could not do it"
	}
	return text
}
