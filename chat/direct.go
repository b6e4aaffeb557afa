package chat

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"weir/chat/data"
	"weir/chat/irc"
)

// Direct messages. Between accounts they have a log, in direct/A,B, whether the other is there or
// not.

// isSelf reports whether the feed is what an account says to itself.
func (f *feed) isSelf() bool { return f.room == nil && f.pair[0] == f.pair[1] }

// toUser sends a message to a user, or to an account that is not there.
func (s *session) toUser(m *message) {
	to := s.svc.find(m.target)
	from := s.user.account
	account := ""
	switch a := s.svc.accounts.Lookup(m.target); {
	case to != nil:
		account = to.account
	case from != "" && a != nil && !a.Removed && m.kept():
		account = a.Name
	default:
		if !irc.Silent(m.verb) {
			s.num(irc.ErrNoSuchNick, irc.Cut(m.target, irc.MaxNick), "No such nick")
		}
		return
	}
	if to != nil && to.away != "" && m.verb == "PRIVMSG" {
		s.num(irc.RplAway, to.nick, to.away)
	}
	if from == "" || account == "" || !m.kept() {
		s.passing(m, to.nick, func(n *news) {
			n.to(s.user)
			if to != s.user {
				n.to(to)
			} else {
				s.behind = append(s.behind, n.line(s)...)
			}
		})
		return
	}
	s.toAccount(m, account)
}

// toAccount stores a direct message, when its log is open, and otherwise has the desk open it.
func (s *session) toAccount(m *message, account string) {
	if f := s.svc.directs[pairKey(s.user.account, account)]; f != nil {
		s.store(f, m, account)
		return
	}
	mine := s.user.account
	s.slow(func() {
		f, err := s.svc.openDirect(mine, account)
		s.svc.mu.Lock()
		defer s.svc.unlock()
		switch {
		case s.user == nil || s.gone:
		case err != nil:
			s.num(irc.ErrCannotSend, account, "Your message was not stored: "+publicError(err))
		default:
			s.store(f, m, account)
		}
	})
}

// pairKey is the folder of a conversation: both accounts, folded, in order.
func pairKey(a, b string) string {
	pair := []string{irc.Fold(a), irc.Fold(b)}
	slices.Sort(pair)
	return pair[0] + "," + pair[1]
}

// openDirect is the conversation of two accounts. It waits for the disk, and must not be called
// with the lock.
func (s *Service) openDirect(a, b string) (*feed, error) {
	key := pairKey(a, b)
	s.opening.Lock()
	defer s.opening.Unlock()
	s.mu.Lock()
	f, full := s.directs[key], len(s.rooms)+len(s.directs) >= s.opts().MaxRooms
	if f != nil {
		f.used = s.o.Now() // so that it is not closed before it is
	}
	s.mu.Unlock()
	switch {
	case f != nil:
		return f, nil
	case full:
		return nil, errRooms
	}
	f = &feed{}
	if err := s.openFeed(f, filepath.Join("direct", data.Folder(key)), key); err != nil {
		return nil, err
	}
	f.pair[0], f.pair[1], _ = strings.Cut(key, ",")
	s.mu.Lock()
	s.directs[key] = f
	s.mu.Unlock()
	return f, nil
}

// other is who an account talks to in a direct conversation.
func (f *feed) other(account string) string {
	if f.pair[0] == irc.Fold(account) {
		return f.pair[1]
	}
	return f.pair[0]
}

// target is what a session calls the feed. The caller does not hold the lock.
func (f *feed) target(s *session) string {
	if f.room != nil {
		f.svc.mu.Lock()
		defer f.svc.mu.Unlock()
		return f.name
	}
	return f.other(s.login.Name)
}

// resumption is how far a session of an account is with its direct conversations.
type resumption uint8

const (
	notResumed resumption = iota
	resuming              // it is catching up: new ones are for it to catch up with
	isResumed
)

// seatPair gives those of the two who came since a seat. The caller, deliver, holds the lock.
func (f *feed) seatPair() {
	for i, name := range f.pair {
		u := f.svc.users[name]
		if u == nil || u.account == "" || i == 1 && f.pair[0] == f.pair[1] {
			continue
		}
		for _, s := range u.sessions {
			if s.resumed == notResumed || f.seatOf(s) != nil {
				continue
			}
			seat := f.sit(s)
			seat.seen.Store(f.batch.First)
			seat.live = s.resumed == isResumed
			s.direct = append(s.direct, f)
		}
	}
}

// resumeDirect replays what the session's account was told while it was away, and lets it take part
// from now on. It runs at the desk.
func (s *session) resumeDirect() {
	s.svc.mu.Lock()
	s.resumed = resuming
	s.svc.unlock()
	for _, other := range s.svc.conversations(s.login.Name) {
		f, err := s.svc.openDirect(s.login.Name, other)
		if err != nil {
			continue
		}
		s.svc.mu.Lock()
		if s.user != nil && !s.gone && f.seatOf(s) == nil {
			f.sit(s)
			s.direct = append(s.direct, f)
		}
		s.svc.unlock()
	}
	for seat := s.notLive(); seat != nil; seat = s.notLive() {
		s.catchUp(seat)
	}
}

// notLive is a direct conversation to catch up with. When there is none, the session has resumed.
func (s *session) notLive() *seat {
	s.svc.mu.Lock()
	defer s.svc.unlock()
	for _, f := range s.direct {
		if seat := f.seatOf(s); seat != nil && !seat.live && !s.gone {
			return seat
		}
	}
	s.resumed = isResumed
	return nil
}

// conversations are those that an account has talked to.
func (s *Service) conversations(account string) []string {
	entries, _ := os.ReadDir(filepath.Join(s.dir, "direct"))
	me := data.Folder(account)
	var others []string
	for _, e := range entries {
		a, b, _ := strings.Cut(e.Name(), ",")
		switch me {
		case a:
			others = append(others, data.NameOf(b))
		case b:
			others = append(others, data.NameOf(a))
		}
	}
	return others
}
