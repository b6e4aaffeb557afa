package chat

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
	"weir/chat/irc"
	"weir/serve"
)

// StateVersion is the version of what a service and its sessions hand over. One that is not known
// is refused.
const StateVersion = 1

// serviceState is what a service is, beside its data directory and its sessions.
type serviceState struct {
	Version  int
	Seed     []byte
	Peak     int
	Users    []userState
	Directs  []string            // conversations that somebody has a seat at
	Paces    map[string]int64    // of accounts
	Visitors map[string][2]int64 // paces of networks: commands and searches
	Guesses  map[string]time.Time
	Tokens   []tokenState      // for uploads
	Openers  map[string]string `json:",omitempty"` // of rooms, by name
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
	Rooms                  map[string]string `json:",omitempty"` // ranks in each, by its name
	Invited                []string          `json:",omitempty"`
	Metadata               map[string]string `json:",omitempty"`
	Since, Spoke           time.Time
	Parting                string // what others are told if none of its sessions is handed over
}

// sessionState is what a session is. Its replies have been sent, and nothing of it is under way.
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
	In              []byte            `json:",omitempty"` // lines that wait, and half a line
	Skipping        bool              `json:",omitempty"`
	Heard           time.Time
	Asked           bool `json:",omitempty"`
	Resumed         bool `json:",omitempty"`
	// up to which offset it was sent everything
	Rooms          map[string]int64 `json:",omitempty"`
	Directs        map[string]int64 `json:",omitempty"`
	Monitors, Subs []string         `json:",omitempty"`
	Batch          *batchState      `json:",omitempty"`
}

// batchState is a message of several lines that is being sent.
type batchState struct {
	Ref, Label, Verb, Target, Tags, Bad string
	Bytes                               int
	Lines                               []lineState
}

type lineState struct {
	Text   string
	Concat bool `json:",omitempty"`
}

// State is what Resume goes on from. The service is frozen.
func (s *Service) State() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.o.Now().UnixNano()
	st := serviceState{Version: StateVersion, Seed: s.seed[:], Peak: s.peak, Paces: map[string]int64{}, Visitors: map[string][2]int64{}}
	for _, u := range s.users {
		st.Users = append(st.Users, u.state())
	}
	for key, f := range s.directs {
		if len(f.seats) > 0 {
			st.Directs = append(st.Directs, key)
		}
	}
	for key, p := range s.paces {
		if at := p.at.Load(); at > now {
			st.Paces[key] = at
		}
	}
	for network, v := range s.perAddr {
		if at := [2]int64{v.pace.at.Load(), v.searches.at.Load()}; max(at[0], at[1]) > now && network.IsValid() {
			st.Visitors[network.String()] = at
		}
	}
	st.Guesses, st.Openers = s.guesses, map[string]string{}
	for _, r := range s.rooms {
		if r.opener != "" {
			st.Openers[r.name] = r.opener
		}
	}
	s.filehost.mu.Lock()
	for _, t := range s.filehost.tokens {
		st.Tokens = append(st.Tokens, tokenState{t.sum[:], t.account, t.until})
	}
	s.filehost.mu.Unlock()
	return encode(st)
}

// encode is v as JSON.
func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // these types are always encoded
	}
	return data
}

func (u *user) state() userState {
	st := userState{Nick: u.nick, Name: u.name, Host: u.host, Real: u.real, Account: u.account, Away: u.away, Bot: u.bot, Invisible: u.invisible,
		Oper: u.oper, Rooms: map[string]string{}, Metadata: u.metadata, Since: u.since, Spoke: u.spoke, Parting: "Connection closed"}
	if !slices.ContainsFunc(u.sessions, func(x *session) bool { return serve.CanMove(x.conn) }) {
		st.Parting = "The server is being upgraded"
	}
	for r, m := range u.rooms {
		st.Rooms[r.name] = m.ranks
	}
	for r := range u.invited {
		st.Invited = append(st.Invited, r.name)
	}
	return st
}

// state is what the session is. The caller holds the lock.
func (s *session) state() []byte {
	st := sessionState{Caps: s.caps.Load(), Addr: s.peer.Addr, Secure: s.peer.Secure, Fingerprint: s.peer.Fingerprint, User: s.user.key(), Reg: s.reg,
		Device: s.login.Device, Account: s.accountName(), Failures: s.failures, Away: s.away, In: s.in, Skipping: s.split.Skipping, Heard: s.heard,
		Asked: s.asked, Resumed: s.resumed == isResumed, Rooms: map[string]int64{}, Directs: map[string]int64{}, Monitors: s.monitors, Subs: s.subs}
	if s.user != nil {
		for r := range s.user.rooms {
			if seat := r.seatOf(s); seat != nil && seat.live {
				st.Rooms[r.name] = seat.seen.Load()
			}
		}
	}
	for _, f := range s.direct {
		if seat := f.seatOf(s); seat != nil && seat.live {
			st.Directs[f.name] = seat.seen.Load()
		}
	}
	if b := s.multi; b != nil {
		m := b.message
		st.Batch = &batchState{Ref: b.ref, Label: b.label, Verb: m.verb, Target: m.target, Tags: m.tags, Bad: b.bad, Bytes: b.bytes}
		for _, line := range m.lines {
			st.Batch.Lines = append(st.Batch.Lines, lineState{line.text, line.concat})
		}
	}
	return encode(st)
}

// readState reads what State has made.
func readState(data []byte) (st serviceState, err error) {
	if err := json.Unmarshal(data, &st); err != nil {
		return st, fmt.Errorf("chat: what was handed over cannot be read: %w", err)
	}
	if st.Version != StateVersion {
		return st, fmt.Errorf("chat: what was handed over has version %d, and this program knows %d: stop the server and start the other", st.Version, StateVersion)
	}
	if len(st.Seed) != seedSize {
		return st, errors.New("chat: what was handed over has no seed")
	}
	if slices.ContainsFunc(st.Tokens, func(t tokenState) bool { return len(t.Sum) != sha256.Size }) {
		return st, errors.New("chat: what was handed over has a token that is none")
	}
	return st, nil
}

// restore makes users and rooms of a state, and freezes the service. Nobody else has it yet.
func (s *Service) restore(st serviceState) error {
	s.frozen = map[*session]struct{}{}
	s.peak = st.Peak
	copy(s.seed[:], st.Seed)
	maps.Copy(s.guesses, st.Guesses)
	for _, t := range st.Tokens {
		s.filehost.tokens = append(s.filehost.tokens, token{[sha256.Size]byte(t.Sum), t.Account, t.Until})
	}
	for key, at := range st.Paces {
		s.paces[key] = new(pace)
		s.paces[key].at.Store(at)
	}
	for network, at := range st.Visitors {
		if p, err := netip.ParsePrefix(network); err == nil {
			v := new(visitors)
			v.pace.at.Store(at[0])
			v.searches.at.Store(at[1])
			s.perAddr[p] = v
		}
	}
	for _, key := range st.Directs {
		a, b, _ := strings.Cut(key, ",")
		if _, err := s.openDirect(a, b); err != nil {
			return err
		}
	}
	for _, u := range st.Users {
		if err := s.restoreUser(u); err != nil {
			return err
		}
	}
	for name, opener := range st.Openers {
		if r := s.rooms[irc.Fold(name)]; r != nil { // it has members: others were not opened again
			r.opener = opener
		}
	}
	return nil
}

func (s *Service) restoreUser(st userState) error {
	u := &user{nick: st.Nick, name: st.Name, host: st.Host, real: st.Real, account: st.Account, away: st.Away, bot: st.Bot, invisible: st.Invisible,
		oper: st.Oper, rooms: map[*room]*member{}, metadata: st.Metadata, since: st.Since, spoke: st.Spoke, parting: st.Parting}
	u.resource()
	for name, ranks := range st.Rooms {
		r, err := s.openRoom(name)
		if err != nil {
			return fmt.Errorf("chat: the room %s: %w", name, err)
		}
		m := &member{user: u, ranks: ranks}
		u.rooms[r], r.members[u] = m, m
	}
	for _, name := range st.Invited {
		if r, err := s.openRoom(name); err == nil {
			if u.invited == nil {
				u.invited = map[*room]bool{}
			}
			u.invited[r] = true
		}
	}
	s.users[irc.Fold(u.nick)] = u
	return nil
}

var errGone = errors.New("chat: its user or account is not there any more")

// readSession makes a session of its state. Missed is what it was not sent yet.
func (s *Service) readSession(c serve.Conn, state []byte) (x *session, missed []byte, err error) {
	var st sessionState
	if err := json.Unmarshal(state, &st); err != nil {
		return nil, nil, err
	}
	x = newSession(s, c, Peer{Addr: st.Addr, Secure: st.Secure, Fingerprint: st.Fingerprint})
	x.caps.Store(st.Caps)
	x.reg, x.failures, x.away, x.in, x.heard, x.asked = st.Reg, st.Failures, st.Away, st.In, st.Heard, st.Asked
	x.split.Skipping, x.subs = st.Skipping, st.Subs
	if st.Account != "" {
		a := s.accounts.Lookup(st.Account)
		if a == nil || a.Removed {
			return nil, nil, errGone
		}
		x.login = account.Login{Account: a, Device: st.Device}
	}
	if b := st.Batch; b != nil {
		x.multi = &multiline{ref: b.Ref, label: b.Label, bytes: b.Bytes, bad: b.Bad, message: message{verb: b.Verb, target: b.Target, tags: b.Tags}}
		for _, line := range b.Lines {
			x.multi.message.lines = append(x.multi.message.lines, part{line.Text, line.Concat})
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.comesBack(x, st.User) {
		return nil, nil, errGone
	}
	if x.user == nil {
		return x, nil, nil
	}
	return x, s.seatAgain(x, &st), nil
}

// comesBack lets a session in that was in before. The caller holds the lock.
func (s *Service) comesBack(x *session, user string) bool {
	u := s.users[user]
	if user != "" && u == nil || user == "" && x.reg == nil {
		return false
	}
	s.count(x)
	if u == nil {
		s.unknown++
		x.place = s.waiting.Enter(x.peer.Addr, true, x)
		return true
	}
	x.user, x.reg = u, nil
	u.sessions = append(u.sessions, x)
	return true
}

// seatAgain gives a session its seats and what it watches, and returns what it was not sent. The
// caller holds the lock.
func (s *Service) seatAgain(x *session, st *sessionState) (missed []byte) {
	for name, seen := range st.Rooms {
		if r := s.rooms[irc.Fold(name)]; r != nil && x.user.rooms[r] != nil {
			missed = append(missed, x.seatFrom(&r.feed, seen)...)
		}
	}
	for name, seen := range st.Directs {
		if f := s.directs[name]; f != nil {
			missed = append(missed, x.seatFrom(f, seen)...)
			x.direct = append(x.direct, f)
		}
	}
	if st.Resumed {
		x.resumed = isResumed
	}
	for _, key := range st.Monitors {
		x.monitors = append(x.monitors, key)
		if s.monitors[key] == nil {
			s.monitors[key] = map[*session]struct{}{}
		}
		s.monitors[key][x] = struct{}{}
	}
	return missed
}

// seatFrom gives a session a seat where it was, and returns what has come to the log since:
// nothing, unless a delivery failed.
func (s *session) seatFrom(f *feed, seen int64) (missed []byte) {
	seat := f.sit(s)
	seat.live = true
	if seen >= f.delivered {
		return nil
	}
	show := shown{view: s.capSet().View()}
	for _, line := range s.between(f, seen, f.delivered, s.svc.opts().Replay) {
		missed = show.append(missed, "", line)
	}
	return missed
}
