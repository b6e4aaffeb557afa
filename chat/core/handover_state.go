package core

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"weir/chat/account"
	"weir/chat/environment"
	"weir/chat/irc"
	"weir/chat/log"
)

// HandoverVersion is the version of the state that a service and its sessions hand over. Resume
// rejects any other version.
const HandoverVersion = 1

// serviceState is the state of a service besides its data directory and its sessions.
type serviceState struct {
	Version  int
	Seed     []byte
	Peak     int
	Users    []userState
	Directs  []string            // direct conversations with subscribers
	Paces    map[string]int64    // GCRA times of accounts
	Visitors map[string][2]int64 // GCRA times of networks: commands, searches
	Guesses  map[string]time.Time
	Tokens   []tokenState      // for uploads
	Openers  map[string]string `json:",omitempty"` // see room.opener; by room
}

type tokenState struct {
	Sum     []byte
	Account string
	Until   time.Time
}

type userState struct {
	Nick, Name, Host, Real string
	Account, Away          string            `json:",omitempty"`
	Bot, Invisible, Oper   bool              `json:",omitempty"`
	OperAccount            string            `json:",omitempty"`
	Rooms                  map[string]string `json:",omitempty"` // ranks, by room
	Invited                []string          `json:",omitempty"`
	Metadata               map[string]string `json:",omitempty"`
	Since, Spoke           time.Time
	Parting                string // QUIT message if none of its sessions is handed over
}

// sessionState is the state of a session. Its replies have been sent, and no job or message of it
// is unfinished.
type sessionState struct {
	Caps            uint64
	Addr            netip.Addr        `json:",omitzero"`
	Secure          bool              `json:",omitempty"`
	Fingerprint     string            `json:",omitempty"`
	User            string            `json:",omitempty"` // folded nick; "" before registration
	Reg             *irc.Registration `json:",omitempty"`
	Account, Device string            `json:",omitempty"`
	Failures        int               `json:",omitempty"`
	Away            string            `json:",omitempty"`
	In              []byte            `json:",omitempty"` // unhandled lines, and a partial line
	Skipping        bool              `json:",omitempty"`
	Heard           time.Time
	Asked           bool `json:",omitempty"`
	Resumed         bool `json:",omitempty"`
	// log offsets up to which everything was sent
	Rooms   map[string]int64 `json:",omitempty"`
	Directs map[string]int64 `json:",omitempty"`
	// those of Rooms and Directs with subscription.hasGap
	Gaps           []string    `json:",omitempty"`
	DirectsGap     bool        `json:",omitempty"`
	Monitors, Subs []string    `json:",omitempty"`
	Batch          *batchState `json:",omitempty"`
}

// batchState is an incomplete multiline message.
type batchState struct {
	Ref, Label, Verb, Target, Tags, Bad string
	Bytes                               int
	Lines                               []lineState
}

type lineState struct {
	Text   string
	Concat bool `json:",omitempty"`
}

// EncodeState returns the state of the service for a handover. The service must be frozen.
func (s *Core) EncodeState() []byte {
	now := s.now.UnixNano()
	st := serviceState{Version: HandoverVersion, Seed: s.cloakSeed[:], Peak: s.peakSessions, Paces: map[string]int64{}, Visitors: map[string][2]int64{}}
	for _, nick := range slices.Sorted(maps.Keys(s.users)) {
		st.Users = append(st.Users, s.users[nick].encodeState())
	}
	for _, key := range slices.Sorted(maps.Keys(s.directs)) {
		if len(s.directs[key].subscriptions) > 0 {
			st.Directs = append(st.Directs, key)
		}
	}
	for key, p := range s.accountPaces {
		if at := p.nextAt; at > now {
			st.Paces[key] = at
		}
	}
	for network, v := range s.networks {
		if at := [2]int64{v.pace.nextAt, v.searches.nextAt}; max(at[0], at[1]) > now && network.IsValid() {
			st.Visitors[network.String()] = at
		}
	}
	st.Guesses, st.Openers = s.guesses, map[string]string{}
	for _, r := range s.rooms {
		if r.opener != "" {
			st.Openers[r.name] = r.opener
		}
	}
	for _, t := range s.uploadTokens {
		st.Tokens = append(st.Tokens, tokenState{t.hash[:], t.account, t.expiresAt})
	}
	return mustMarshal(st)
}

// mustMarshal returns v as JSON.
func mustMarshal(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // these types can always be marshaled
	}
	return data
}

func (u *user) encodeState() userState {
	st := userState{Nick: u.nick, Name: u.name, Host: u.host, Real: u.realname, Account: u.account, Away: u.away, Bot: u.bot, Invisible: u.invisible,
		Oper: u.oper, OperAccount: u.operAccount, Rooms: map[string]string{}, Metadata: u.metadata, Since: u.connectedAt, Spoke: u.lastSpokeAt, Parting: "Connection closed"}
	if !slices.ContainsFunc(u.sessions, func(x *Session) bool { return x.conn.CanMove() }) {
		st.Parting = "The server is being upgraded"
	}
	for r, m := range u.rooms {
		st.Rooms[r.name] = m.ranks
	}
	for r := range u.invited {
		st.Invited = append(st.Invited, r.name)
	}
	slices.Sort(st.Invited)
	return st
}

// encodeState returns the state of the session.
func (s *Session) encodeState() []byte {
	st := sessionState{Caps: uint64(s.caps), Addr: s.peer.Addr, Secure: s.peer.Secure, Fingerprint: s.peer.Fingerprint, User: s.user.foldedNick(), Reg: s.registration,
		Device: s.login.Device, Account: s.accountName(), Failures: s.failedLogins, Away: s.preAway, In: s.unhandled, Skipping: s.splitter.Skipping, Heard: s.lastInputAt,
		Asked: s.liveness == pinged, Resumed: s.directsResumption == isResumed, Rooms: map[string]int64{}, Directs: map[string]int64{}, DirectsGap: s.directsGap, Monitors: s.monitored, Subs: s.metadataSubs}
	if s.user != nil {
		for r := range s.user.rooms {
			if sub := r.subscriptionOf(s); sub != nil && sub.state == live {
				st.Rooms[r.name] = sub.sentUpTo
				st.addGap(sub)
			}
		}
	}
	for _, f := range s.directs {
		if sub := f.subscriptionOf(s); sub != nil && sub.state == live {
			st.Directs[f.name] = sub.sentUpTo
			st.addGap(sub)
		}
	}
	if b := s.multiline; b != nil {
		m := b.message
		st.Batch = &batchState{Ref: b.batchRef, Label: b.label, Verb: m.command, Target: m.target, Tags: m.tags, Bad: b.faultCode, Bytes: b.bytes}
		for _, line := range m.lines {
			st.Batch.Lines = append(st.Batch.Lines, lineState{line.text, line.concat})
		}
	}
	return mustMarshal(st)
}

func (st *sessionState) addGap(sub *subscription) {
	if sub.hasGap {
		st.Gaps = append(st.Gaps, sub.conversation.name)
	}
}

// ReadState decodes the result of EncodeState.
func ReadState(data []byte) (st serviceState, err error) {
	if err := json.Unmarshal(data, &st); err != nil {
		return st, fmt.Errorf("chat: the state that was handed over cannot be read: %w", err)
	}
	if st.Version != HandoverVersion {
		return st, fmt.Errorf("chat: the state that was handed over has version %d, and this program supports %d: stop the server and start the new one", st.Version, HandoverVersion)
	}
	if len(st.Seed) != seedSize {
		return st, errors.New("chat: the state that was handed over has no seed")
	}
	if slices.ContainsFunc(st.Tokens, func(t tokenState) bool { return len(t.Sum) != sha256.Size }) {
		return st, errors.New("chat: the state that was handed over has an invalid token")
	}
	return st, nil
}

// Restore recreates users and rooms, and freezes the service. It is a task.
func (s *Core) Restore(t *Task, st serviceState) error {
	s.frozenSessions = map[*Session]struct{}{}
	s.peakSessions = st.Peak
	copy(s.cloakSeed[:], st.Seed)
	maps.Copy(s.guesses, st.Guesses)
	for _, t := range st.Tokens {
		s.uploadTokens = append(s.uploadTokens, token{[sha256.Size]byte(t.Sum), t.Account, t.Until})
	}
	for key, at := range st.Paces {
		s.accountPaces[key] = new(pace)
		s.accountPaces[key].nextAt = at
	}
	for network, at := range st.Visitors {
		if p, err := netip.ParsePrefix(network); err == nil {
			v := new(networkUse)
			v.pace.nextAt = at[0]
			v.searches.nextAt = at[1]
			s.networks[p] = v
		}
	}
	for _, key := range st.Directs {
		a, b, _ := strings.Cut(key, ",")
		if _, err := s.openDirect(t, a, b); err != nil {
			return err
		}
	}
	for _, u := range st.Users {
		if err := s.restoreUser(t, u); err != nil {
			return err
		}
	}
	for name, opener := range st.Openers {
		if r := s.rooms[irc.Fold(name)]; r != nil { // rooms without members are not reopened
			r.opener = opener
		}
	}
	return nil
}

func (s *Core) restoreUser(t *Task, st userState) error {
	u := &user{nick: st.Nick, name: st.Name, host: st.Host, realname: st.Real, account: st.Account, away: st.Away, bot: st.Bot, invisible: st.Invisible,
		oper: st.Oper, operAccount: st.OperAccount, rooms: map[*room]*member{}, metadata: st.Metadata, connectedAt: st.Since, lastSpokeAt: st.Spoke, quitMessageIfLost: st.Parting}
	if u.oper && u.operAccount == "" { // of a version that did not hand it over
		u.operAccount = u.account
	}
	u.updateSource()
	for _, name := range slices.Sorted(maps.Keys(st.Rooms)) {
		r, err := s.openRoom(t, name)
		if err != nil {
			return fmt.Errorf("chat: the room %s: %w", name, err)
		}
		m := &member{user: u, ranks: st.Rooms[name]}
		u.rooms[r], r.members[u] = m, m
	}
	for _, name := range st.Invited {
		if r, err := s.openRoom(t, name); err == nil {
			if u.invited == nil {
				u.invited = map[*room]bool{}
			}
			u.invited[r] = true
		}
	}
	s.users[irc.Fold(u.nick)] = u
	return nil
}

var errUserGone = errors.New("chat: the user or account of the connection no longer exists")

// readSession recreates a session from its state. Missed holds the messages that it has not been
// sent.
func (s *Core) readSession(t *Task, c environment.Conn, state []byte) (x *Session, missed []byte, err error) {
	var st sessionState
	if err := json.Unmarshal(state, &st); err != nil {
		return nil, nil, err
	}
	x = newSession(s, c, Peer{Addr: st.Addr, Secure: st.Secure, Fingerprint: st.Fingerprint})
	x.caps = irc.Caps(st.Caps)
	x.registration, x.failedLogins, x.preAway, x.unhandled, x.lastInputAt = st.Reg, st.Failures, st.Away, st.In, st.Heard
	switch {
	case st.Asked:
		livenessLife.move(&x.liveness, pinged)
	case st.User != "":
		livenessLife.move(&x.liveness, responsive)
	}
	x.splitter.Skipping, x.metadataSubs = st.Skipping, st.Subs
	if st.Account != "" {
		a := s.env.Accounts.Lookup(st.Account)
		if a == nil {
			return nil, nil, errUserGone
		}
		x.login = account.Login{Account: a, Device: st.Device}
	}
	if b := st.Batch; b != nil {
		x.multiline = &multiline{batchRef: b.Ref, label: b.Label, bytes: b.Bytes, faultCode: b.Bad, message: message{command: b.Verb, target: b.Target, tags: b.Tags}}
		for _, line := range b.Lines {
			x.multiline.message.lines = append(x.multiline.message.lines, messageLine{line.Text, line.Concat})
		}
	}
	if !s.attachAdopted(x, st.User) {
		return nil, nil, errUserGone
	}
	if x.user == nil {
		return x, nil, nil
	}
	return x, s.restoreSubscriptions(t, x, &st), nil
}

// attachAdopted attaches an adopted session to its user, and reports whether that exists.
func (s *Core) attachAdopted(x *Session, user string) bool {
	u := s.users[user]
	if user != "" && u == nil || user == "" && x.registration == nil {
		return false
	}
	s.countSession(x)
	if u == nil {
		s.unregisteredCount++
		x.lobbyPlace = s.lobby.Enter(x.peer.Addr, true, x)
		return true
	}
	x.user, x.registration = u, nil
	u.sessions = append(u.sessions, x)
	return true
}

// restoreSubscriptions restores the session's subscriptions and monitored nicks, and returns
// the messages that it has not been sent.
func (s *Core) restoreSubscriptions(t *Task, x *Session, st *sessionState) (missed []byte) {
	for _, name := range slices.Sorted(maps.Keys(st.Rooms)) {
		if r := s.rooms[irc.Fold(name)]; r != nil && x.user.rooms[r] != nil {
			missed = append(missed, x.subscribeFrom(t, &r.conversation, st.Rooms[name], slices.Contains(st.Gaps, name))...)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(st.Directs)) {
		if f := s.directs[name]; f != nil {
			missed = append(missed, x.subscribeFrom(t, f, st.Directs[name], slices.Contains(st.Gaps, name))...)
			x.directs = append(x.directs, f)
		}
	}
	x.directsGap = st.DirectsGap
	if st.Resumed {
		x.directsResumption = isResumed
	}
	for _, key := range st.Monitors {
		x.monitored = append(x.monitored, key)
		if s.monitors[key] == nil {
			s.monitors[key] = map[*Session]struct{}{}
		}
		s.monitors[key][x] = struct{}{}
	}
	return missed
}

// subscribeFrom restores a subscription at an offset and returns the messages behind it: none,
// unless a delivery failed.
func (s *Session) subscribeFrom(t *Task, f *conversation, seen int64, hasGap bool) (missed []byte) {
	sub := f.subscribe(s)
	sub.hasGap = hasGap
	subscriptionLife.move(&sub.state, live)
	if seen >= f.deliveredOffset {
		return nil
	}
	show, upTo, limit := lineFormatter{view: s.caps.View()}, f.deliveredOffset, s.svc.Options().MaxReplay
	var err error
	t.await(func() {
		var lines []log.Line
		lines, err = f.linesBetween(seen, upTo, limit)
		for _, line := range lines {
			missed = show.appendLine(missed, "", line)
		}
	})
	s.noteGap(sub, err)
	return missed
}
