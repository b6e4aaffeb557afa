package chat

import (
	"strconv"
	"strings"

	"weir/chat/account"
	"weir/chat/irc"
)

// Registration: NICK, USER, PASS and CAP, in any order, until irc.Registration says that all is
// there.

func (s *session) cmdCap(m *irc.Message) {
	sub := strings.ToUpper(m.Params[0])
	switch sub {
	case "LS":
		v302 := number(irc.Param(m, 1)) >= 302
		s.negotiate(v302)
		s.capLines("LS", s.offers().List(s.capValues(), v302), v302)
	case "LIST":
		s.capLines("LIST", s.capSet().Names(), s.has(irc.Version302))
	case "REQ":
		s.negotiate(false)
		before := s.capSet()
		caps, ok := before.Request(irc.Param(m, 1), s.offers())
		verb := "NAK"
		if ok {
			verb = "ACK"
			s.caps.Store(uint64(caps))
		}
		s.out = append(s.out, ":"+s.svc.o.Name+" CAP "+s.nick()+" "+verb+" :"+strings.TrimSpace(irc.Param(m, 1))+"\r\n"...)
		if s.user != nil && !before.HearsMetadata() && s.has(irc.CapMetadata) && !s.has(irc.CapMetadata3) {
			s.ownMetadata()
		}
		if !s.capSet().HearsMetadata() {
			s.subs = nil
		}
	case "END":
		if s.reg != nil {
			s.reg.Negotiating = false
			s.tryRegister()
		}
	default:
		s.num(irc.ErrInvalidCap, m.Params[0], "Invalid CAP command")
	}
}

// negotiate keeps registration from ending before CAP END.
func (s *session) negotiate(v302 bool) {
	if s.reg != nil {
		s.reg.Negotiating = true
	}
	if v302 { // implies cap-notify, for good
		s.caps.Store(uint64(s.capSet() | irc.CapCapNotify | irc.Version302))
	}
}

// capLines sends a list of capabilities, in several lines to clients that understand these. Others
// are sent one line, of as many as fit into the length that lines of the protocol have.
func (s *session) capLines(verb string, words []string, several bool) {
	head := ":" + s.svc.o.Name + " CAP " + s.nick() + " " + verb
	lines := irc.Wrap(words, 400)
	if !several {
		lines = irc.Wrap(irc.Fitting(words, irc.MaxBody-len(head+" :\r\n")), irc.MaxBody)
	}
	for i, line := range lines {
		more := ""
		if i < len(lines)-1 {
			more = " *"
		}
		s.out = append(s.out, head+more+" :"+line+"\r\n"...)
	}
}

// offers are the capabilities that the session may have.
func (s *session) offers() irc.Caps {
	all, o := irc.AllCaps, s.svc.opts()
	if o.STS.value(s.peer.Secure) == "" {
		all &^= irc.CapSTS
	}
	if s.svc.o.NoSearch {
		all &^= irc.CapSearch | irc.CapSojuSearch
	}
	if o.Registration == account.ByNobody {
		all &^= irc.CapRegistration
	}
	return all
}

// offerAnew tells users that know CAP NEW and DEL which capabilities are offered, or not any more,
// since the options were others. The caller holds the lock.
func (s *Service) offerAnew(before, now *Options) {
	for _, u := range s.users {
		for _, session := range u.sessions {
			secure := session.peer.Secure
			sts := before.STS.value(secure) != now.STS.value(secure)
			register := (before.Registration == account.ByNobody) != (now.Registration == account.ByNobody)
			if session.has(irc.CapCapNotify) && (sts || register) {
				session.conn.Send(session.standIn().capChanges(sts, register))
			}
		}
	}
}

// capChanges says how the offers have become others, of the capabilities that may.
func (s *session) capChanges(sts, register bool) []byte {
	var changed irc.Caps
	if register {
		changed |= irc.CapRegistration
	}
	if sts {
		changed |= irc.CapSTS
	}
	offers := s.offers()
	if lost := changed &^ offers; lost != 0 {
		s.capLines("DEL", lost.Names(), true)
	}
	if found := (changed & offers).List(s.capValues(), s.has(irc.Version302)); len(found) > 0 {
		s.capLines("NEW", found, true)
	}
	return s.out
}

func (s *session) capValues() map[irc.Caps]string {
	o := s.svc.opts()
	return map[irc.Caps]string{irc.CapSASL: "PLAIN,EXTERNAL,SCRAM-SHA-256", irc.CapSTS: o.STS.value(s.peer.Secure), irc.CapRegistration: "before-connect,custom-account-name",
		irc.CapMultiline: "max-bytes=" + strconv.Itoa(irc.MultilineBytes) + ",max-lines=" + strconv.Itoa(irc.MultilineLines),
		irc.CapMetadata3: "max-subs=" + strconv.Itoa(maxSubs) + ",max-keys=" + strconv.Itoa(maxKeys) + ",max-key-bytes=" + strconv.Itoa(maxKey) + ",max-value-bytes=" + strconv.Itoa(maxValue),
		irc.CapMetadata:  "max-subs=" + strconv.Itoa(maxSubs) + ",max-keys=" + strconv.Itoa(maxKeys) + ",max-value-bytes=" + strconv.Itoa(maxValue)}
}

func (s *session) cmdPass(m *irc.Message) {
	if s.reg == nil {
		s.num(irc.ErrAlreadyReg, "You may not reregister")
		return
	}
	s.reg.Pass = m.Params[0]
}

func (s *session) cmdUser(m *irc.Message) {
	if s.reg == nil || s.reg.User != "" {
		s.num(irc.ErrAlreadyReg, "You may not reregister")
		return
	}
	if m.Params[0] == "" || m.Params[3] == "" {
		s.num(irc.ErrNeedMoreParams, m.Command, "The user name and the real name cannot be empty")
		return
	}
	s.reg.User, s.reg.Real = irc.CleanUser(m.Params[0]), irc.Cut(m.Params[3], irc.MaxReal)
	s.tryRegister()
}

// tryRegister makes a user of the session once all is there. A PASS of ACCOUNT:PASSWORD is a login.
func (s *session) tryRegister() {
	if s.reg == nil || !s.reg.Ready() || s.over != nil {
		return
	}
	if s.sasl != nil {
		s.sasl = nil
		s.num(irc.ErrSASLAborted, "SASL authentication aborted")
	}
	name, password, both := strings.Cut(s.reg.Pass, ":")
	s.reg.Pass = ""
	if both && s.login.Account == nil {
		s.slow(func() { s.loginByPass(name, password) })
		return
	}
	if s.login.Account != nil { // its metadata is told as it comes in
		s.slow(func() {
			values := s.svc.readMetadata(s.svc.accounts.MetadataPath(s.login.Name))
			s.svc.locked(func() { s.register(values) })
		})
		return
	}
	s.register(nil)
}

func (s *session) loginByPass(name, password string) {
	login, err := s.plain(name, password)
	var values map[string]string
	if err == nil {
		values = s.svc.readMetadata(s.svc.accounts.MetadataPath(login.Name))
	}
	s.svc.mu.Lock()
	defer s.svc.unlock()
	if err != nil {
		s.noteRefusal(name, err)
		s.loginFailed(name, err)
		s.num(irc.ErrPasswdMismatch, wrongLogin(err))
		s.end("Bad password")
		return
	}
	s.loggedIn(login)
	s.register(values)
}

// wrongLogin is what a client is told of a password that was not taken.
func wrongLogin(err error) string {
	if e := throttled(err); e != nil {
		return "Nobody can log in so now: " + e.Error()
	}
	return "The name or the password is wrong"
}

// end ends the session with words to it and to others.
func (s *session) end(words string) {
	s.out = append(s.out, "ERROR :Closing link ("+words+")\r\n"...)
	s.over = &quitting{words}
}

// register makes the session one of a user: of its account's, if that is there already, or of a new
// one. Values are its account's metadata, nil if they are to be read later. The caller holds the
// lock.
func (s *session) register(values map[string]string) {
	svc := s.svc
	if svc.opts().LoginOnly && s.login.Account == nil {
		s.fail("*", "ACCOUNT_REQUIRED", "You have to log in by SASL to come in")
		s.end("You have to log in")
		return
	}
	u := svc.users[irc.Fold(s.accountName())]
	if u == nil || u.account == "" || s.login.Account == nil {
		if u = s.newUser(); u == nil {
			return
		}
	}
	if ban, banned := svc.accounts.Banned(account.Client{Account: u.account, Addr: s.peer.Addr, Mask: u.source}, svc.o.Now()); banned {
		s.num(irc.ErrBanned, "You are banned from this server: "+ban.Reason)
		s.end("Banned")
		return
	}
	said := s.reg.Nick
	s.reg, s.user, s.heard, s.fresh = nil, u, svc.o.Now(), true
	first := len(u.sessions) == 0
	u.sessions = append(u.sessions, s)
	svc.users[irc.Fold(u.nick)] = u
	svc.unknown--
	svc.waiting.Leave(s.place)
	s.place = nil
	if u.account != "" && u.metadata == nil {
		u.metadata = values
	}
	svc.peak = max(svc.peak, svc.sessions-svc.unknown)
	s.welcome(said)
	if first {
		svc.watchers(u.nick, irc.RplMonOnline, u.source)
	}
	if s.away != "" {
		s.setAway(s.away)
	}
	if s.login.Account != nil {
		s.slow(s.resume)
	} else if !s.has(irc.CapMetadata3) {
		s.ownMetadata()
	}
}

func (s *session) accountName() string {
	if s.login.Account == nil {
		return ""
	}
	return s.login.Name
}

// newUser is a user as registration says, nil when it cannot have its nick: of an account, that has
// the account's name.
func (s *session) newUser() *user {
	svc, now := s.svc, s.svc.o.Now()
	nick := s.reg.Nick
	if name := s.accountName(); name != "" && irc.Fold(nick) != irc.Fold(name) {
		nick = name
	}
	if svc.taken(nick, s) {
		s.num(irc.ErrNickInUse, nick, "Nickname is already in use")
		s.reg.Nick = ""
		return nil
	}
	u := &user{nick: nick, name: s.reg.User, real: s.reg.Real, account: s.accountName(), since: now, spoke: now,
		host: svc.cloak(s.peer.Addr), rooms: map[*room]*member{}}
	if u.account != "" {
		u.host = irc.Fold(u.account) + ".account"
	}
	u.resource()
	return u
}

// taken says whether a session cannot be called so: somebody is, or an account that is not its own
// has the name.
func (s *Service) taken(nick string, by *session) bool {
	if u := s.find(nick); u != nil && u != by.user {
		return true
	}
	if a := s.accounts.Lookup(nick); a != nil && !a.Removed {
		return irc.Fold(a.Name) != irc.Fold(by.accountName())
	}
	return false
}

// welcome is what a new session is told. Said is the nick that it asked for.
func (s *session) welcome(said string) {
	svc, u := s.svc, s.user
	if said != u.nick {
		s.out = irc.AppendLine(s.out, said, "NICK", u.nick)
	}
	s.num(irc.RplWelcome, "Welcome to "+svc.o.Network+", "+u.source)
	s.num(irc.RplYourHost, "Your host is "+svc.o.Name+", running "+version)
	s.num(irc.RplCreated, "This server was started "+svc.began.UTC().Format("2006-01-02 15:04:05 UTC"))
	s.num(irc.RplMyInfo, svc.o.Name, version, "Bio", "Cbiklmnostv", "bklov")
	s.isupport()
	s.cmdLusers(nil)
	if s.has(irc.CapMetadata3) {
		s.ownMetadata()
	}
	s.cmdMOTD(nil)
	s.num(irc.RplUModeIs, u.modes())
}

// version names the software to clients.
const version = "weir-chat"
