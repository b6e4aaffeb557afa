package core

import (
	"strconv"
	"strings"

	"weir/chat/account"
	"weir/chat/irc"
)

// Registration: NICK, USER, PASS and CAP, in any order, until irc.Registration is complete.
//
// A function given to startTask is a task: see task.go. Of the options, svc.fixed never changes,
// and svc.Options() returns those that Configure may change.

func (s *Session) cmdCap(m *irc.Message) {
	sub := strings.ToUpper(m.Params[0])
	switch sub {
	case "LS":
		v302 := atoi(irc.Param(m, 1)) >= 302
		s.holdRegistration(v302)
		s.sendCaps("LS", s.offeredCaps().List(s.capValues(), v302), v302)
	case "LIST":
		s.sendCaps("LIST", s.caps.Names(), s.has(irc.Version302))
	case "REQ":
		s.holdRegistration(false)
		before := s.caps
		caps, ok := before.Request(irc.Param(m, 1), s.offeredCaps())
		verb := "NAK"
		if ok {
			verb = "ACK"
			s.caps = caps
		}
		s.replies = append(s.replies, ":"+s.svc.fixed.Name+" CAP "+s.nick()+" "+verb+" :"+strings.TrimSpace(irc.Param(m, 1))+"\r\n"...)
		// a registered client: see sendOwnMetadata
		if s.user != nil && !before.HasMetadata() && s.has(irc.CapMetadata) && !s.has(irc.CapMetadata3) {
			s.sendOwnMetadata()
		}
		if !s.caps.HasMetadata() {
			s.metadataSubs = nil
		}
	case "END":
		if s.registration != nil {
			s.registration.Negotiating = false
			s.tryRegister()
		}
	default:
		s.numeric(irc.ErrInvalidCap, m.Params[0], "Invalid CAP command")
	}
}

// holdRegistration delays the end of registration until CAP END. v302 says that the client sent CAP
// LS 302. Such a client has the capability cap-notify from then on, without a request.
func (s *Session) holdRegistration(v302 bool) {
	if s.registration != nil {
		s.registration.Negotiating = true
	}
	if v302 {
		s.caps |= irc.CapCapNotify | irc.Version302
	}
}

// capListBytes is the maximum length of the list in one of several CAP lines. It leaves room for
// the server's name, the nick and the subcommand in a line of 512 bytes.
const capListBytes = 400

// sendCaps sends a list of capabilities. A client that supports it is sent several lines. Another
// client is sent one line with as many capabilities as fit.
func (s *Session) sendCaps(verb string, words []string, several bool) {
	head := ":" + s.svc.fixed.Name + " CAP " + s.nick() + " " + verb
	lines := irc.Wrap(words, capListBytes)
	if !several {
		lines = irc.Wrap(irc.Fitting(words, irc.MaxBody-len(head+" :\r\n")), irc.MaxBody)
	}
	for i, line := range lines {
		more := ""
		if i < len(lines)-1 {
			more = " *"
		}
		s.replies = append(s.replies, head+more+" :"+line+"\r\n"...)
	}
}

// offeredCaps returns the capabilities that the session may request.
func (s *Session) offeredCaps() irc.Caps {
	all, o := irc.AllCaps, s.svc.Options()
	if o.STS.capValue(s.peer.Secure) == "" {
		all &^= irc.CapSTS
	}
	if s.svc.fixed.NoSearch {
		all &^= irc.CapSearch | irc.CapSojuSearch
	}
	if o.Registration == account.RegistrationOff {
		all &^= irc.CapRegistration
	}
	return all
}

// notifyCapChanges sends CAP NEW and CAP DEL to clients with cap-notify, after changed
// options have changed the offered capabilities. It collects the lines for each session apart from
// the session's replies, which belong to the goroutine that runs it.
func (s *Core) notifyCapChanges(before, now *Options) {
	for _, u := range s.users {
		for _, session := range u.sessions {
			secure := session.peer.Secure
			sts := before.STS.capValue(secure) != now.STS.capValue(secure)
			register := (before.Registration == account.RegistrationOff) != (now.Registration == account.RegistrationOff)
			if session.has(irc.CapCapNotify) && (sts || register) {
				session.conn.Send(session.replyCollector().capChangeLines(sts, register))
			}
		}
	}
}

// capChangeLines returns CAP NEW and CAP DEL lines for the capabilities that changed options offer
// or withdraw. sts and register say which of the two such capabilities may have changed.
func (s *Session) capChangeLines(sts, register bool) []byte {
	var changed irc.Caps
	if register {
		changed |= irc.CapRegistration
	}
	if sts {
		changed |= irc.CapSTS
	}
	offers := s.offeredCaps()
	if lost := changed &^ offers; lost != 0 {
		s.sendCaps("DEL", lost.Names(), true)
	}
	if found := (changed & offers).List(s.capValues(), s.has(irc.Version302)); len(found) > 0 {
		s.sendCaps("NEW", found, true)
	}
	return s.replies
}

// capValues returns the values that CAP LS 302 shows with the capabilities' names.
func (s *Session) capValues() map[irc.Caps]string {
	o := s.svc.Options()
	return map[irc.Caps]string{irc.CapSASL: "PLAIN,EXTERNAL,SCRAM-SHA-256", irc.CapSTS: o.STS.capValue(s.peer.Secure), irc.CapRegistration: "before-connect,custom-account-name",
		irc.CapMultiline: "max-bytes=" + strconv.Itoa(irc.MultilineBytes) + ",max-lines=" + strconv.Itoa(irc.MultilineLines),
		irc.CapMetadata3: "max-subs=" + strconv.Itoa(maxMetadataSubs) + ",max-keys=" + strconv.Itoa(maxMetadataKeys) + ",max-key-bytes=" + strconv.Itoa(maxMetadataKeyBytes) + ",max-value-bytes=" + strconv.Itoa(maxMetadataValueBytes),
		irc.CapMetadata:  "max-subs=" + strconv.Itoa(maxMetadataSubs) + ",max-keys=" + strconv.Itoa(maxMetadataKeys) + ",max-value-bytes=" + strconv.Itoa(maxMetadataValueBytes)}
}

func (s *Session) cmdPass(m *irc.Message) {
	if s.registration == nil {
		s.numeric(irc.ErrAlreadyReg, "You may not reregister")
		return
	}
	s.registration.Pass = m.Params[0]
}

func (s *Session) cmdUser(m *irc.Message) {
	if s.registration == nil || s.registration.User != "" {
		s.numeric(irc.ErrAlreadyReg, "You may not reregister")
		return
	}
	if m.Params[0] == "" || m.Params[3] == "" {
		s.numeric(irc.ErrNeedMoreParams, m.Command, "The user name and the real name cannot be empty")
		return
	}
	s.registration.User, s.registration.Real = irc.CleanUser(m.Params[0]), irc.Cut(m.Params[3], irc.MaxReal)
	s.tryRegister()
}

// tryRegister completes registration once the client has sent all parts. A PASS of ACCOUNT:PASSWORD
// logs in. With an account, a worker reads the metadata first, because reading a file takes time.
func (s *Session) tryRegister() {
	if s.registration == nil || !s.registration.Ready() || s.endErr != nil {
		return
	}
	if s.sasl != nil {
		s.sasl = nil
		s.numeric(irc.ErrSASLAborted, "SASL authentication aborted")
	}
	name, password, both := strings.Cut(s.registration.Pass, ":")
	s.registration.Pass = ""
	if both && s.login.Account == nil {
		s.startTask(func() { s.logInByPass(name, password) })
		return
	}
	if s.login.Account != nil {
		s.startTask(func() {
			s.register(s.readAccountMetadata(s.login.Name))
		})
		return
	}
	s.register(nil)
}

// logInByPass logs in and registers the session, or ends it if the password is wrong. It is a task.
func (s *Session) logInByPass(name, password string) {
	login, err := s.checkPassword(name, password)
	if err != nil {
		s.logRefusedLogin(name, err)
		s.countFailedLogin(name, err)
		s.numeric(irc.ErrPasswdMismatch, passwordRefusal(err))
		s.endWithError("Bad password")
		return
	}
	values := s.readAccountMetadata(login.Name)
	s.setLogin(login)
	s.register(values)
}

// passwordRefusal returns the reply to a refused password.
func passwordRefusal(err error) string {
	if e := asThrottled(err); e != nil {
		return "Login refused: " + e.Error()
	}
	return "The name or the password is wrong"
}

// endWithError sends the client an ERROR line with the reason, and ends the session when its
// replies are sent. If it was registered, the members of its user's rooms are sent a QUIT with the
// reason.
func (s *Session) endWithError(reason string) {
	s.replies = append(s.replies, "ERROR :Closing link ("+reason+")\r\n"...)
	s.endErr = &quitError{reason}
}

// register attaches the session to the user of its account if that user is online, or else to
// a new user, unless it may not register. metadata is that of the account; nil: the session has no
// account.
func (s *Session) register(metadata map[string]string) {
	svc := s.svc
	switch {
	case svc.Options().LoginOnly && s.login.Account == nil:
		s.fail("*", "ACCOUNT_REQUIRED", "This server requires a login by SASL")
		s.endWithError("You have to log in")
		return
	case svc.isRemoved(s.login): // enforceBans sees registered sessions only
		s.endWithError("Your account was removed")
		return
	}
	u := svc.users[irc.Fold(s.accountName())]
	if u == nil || u.account == "" || s.login.Account == nil {
		if u = s.newUser(); u == nil {
			return
		}
	}
	if ban, banned := svc.env.Accounts.Banned(account.Client{Account: u.account, Addr: s.peer.Addr, Mask: u.source}, svc.now); banned {
		s.numeric(irc.ErrBanned, "You are banned from this server: "+ban.Reason)
		s.endWithError("Banned")
		return
	}
	s.attach(u, metadata)
}

// attach makes the session one of a user's and welcomes it. Then a task resumes the account: the
// session rejoins its rooms and is sent what it missed.
func (s *Session) attach(u *user, metadata map[string]string) {
	svc, requestedNick := s.svc, s.registration.Nick
	s.registration, s.user, s.lastInputAt = nil, u, svc.now
	livenessLife.move(&s.liveness, justRegistered)
	first := len(u.sessions) == 0
	u.sessions = append(u.sessions, s)
	svc.users[irc.Fold(u.nick)] = u
	svc.unregisteredCount--
	svc.lobby.Leave(s.lobbyPlace) // the lobby limits connections that have not registered
	s.lobbyPlace = nil
	if u.account != "" && u.metadata == nil {
		u.metadata = metadata
	}
	svc.peakSessions = max(svc.peakSessions, svc.sessionCount-svc.unregisteredCount)
	s.sendWelcome(requestedNick)
	if first {
		svc.notifyMonitors(u.nick, irc.RplMonOnline, u.source)
	}
	if s.preAway != "" {
		s.setAway(s.preAway)
	}
	if s.login.Account != nil {
		s.startTask(s.resumeAccount)
	} else if !s.has(irc.CapMetadata3) { // see sendOwnMetadata
		s.sendOwnMetadata()
	}
}

// accountName returns the name of the account that the session has logged in to, or "".
func (s *Session) accountName() string {
	if s.login.Account == nil {
		return ""
	}
	return s.login.Name
}

// newUser returns a user from the registration, or nil if the nick is in use. The nick of an
// account's user is the account's name.
func (s *Session) newUser() *user {
	svc, now := s.svc, s.svc.now
	nick := s.registration.Nick
	if name := s.accountName(); name != "" && irc.Fold(nick) != irc.Fold(name) {
		nick = name
	}
	if svc.isNickTaken(nick, s) {
		s.numeric(irc.ErrNickInUse, nick, "Nickname is already in use")
		s.registration.Nick = ""
		return nil
	}
	u := &user{nick: nick, name: s.registration.User, realname: s.registration.Real, account: s.accountName(), connectedAt: now, lastSpokeAt: now,
		host: svc.cloak(s.peer.Addr), rooms: map[*room]*member{}}
	if u.account != "" {
		u.host = irc.Fold(u.account) + ".account"
	}
	u.updateSource()
	return u
}

// isNickTaken reports whether a nick belongs to another user, or to an account that is not the
// session's own, also if the account was removed and its name is still reserved.
func (s *Core) isNickTaken(nick string, by *Session) bool {
	if u := s.findUser(nick); u != nil && u != by.user {
		return true
	}
	return s.env.Accounts.IsReserved(nick) && irc.Fold(nick) != irc.Fold(by.accountName())
}

// sendWelcome sends the numerics that complete registration. If the user has another nick than the
// client requested, a NICK precedes them.
func (s *Session) sendWelcome(requestedNick string) {
	svc, u := s.svc, s.user
	if requestedNick != u.nick {
		s.replies = irc.AppendLine(s.replies, requestedNick, "NICK", u.nick)
	}
	s.numeric(irc.RplWelcome, "Welcome to "+svc.fixed.Network+", "+u.source)
	s.numeric(irc.RplYourHost, "Your host is "+svc.fixed.Name+", running "+version)
	s.numeric(irc.RplCreated, "This server was started "+svc.startedAt.UTC().Format("2006-01-02 15:04:05 UTC"))
	s.numeric(irc.RplMyInfo, svc.fixed.Name, version, "Bio", "Cbiklmnostv", "bklov")
	s.sendISupport()
	s.cmdLusers(nil)
	if s.has(irc.CapMetadata3) {
		s.sendOwnMetadata()
	}
	s.cmdMOTD(nil)
	s.numeric(irc.RplUModeIs, u.modes())
}

// version names the software in replies.
const version = "weir-chat"
