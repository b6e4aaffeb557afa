package chat

import (
	"strconv"
	"strings"
	"time"

	"weir/chat/account"
	"weir/chat/irc"
)

// parseInt reads an offset.
func parseInt(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) }

// The read marker (draft/read-marker) is what the clients of a person share: a mark of the
// account's, besides those of its devices. Who has no account has none.

// markerCost is how many commands a MARKREAD with a time counts as: it takes two fsyncs, of the
// file and of its folder, where a message takes one.
const markerCost = 2

func (s *session) cmdMarkRead(m *irc.Message) {
	target := irc.Param(m, 0)
	switch {
	case target == "":
		s.fail("MARKREAD", "NEED_MORE_PARAMS", "Missing parameters")
	case s.login.Account == nil:
		s.fail("MARKREAD", "ACCOUNT_REQUIRED", "You have to log in")
	default:
		if irc.Param(m, 1) != "" {
			s.charge(markerCost - 1)
		}
		s.slow(func() { s.markRead(target, irc.Param(m, 1)) })
	}
}

// markRead sets or gets the marker. It runs at the desk.
func (s *session) markRead(target, value string) {
	f, err := s.feedOf(target)
	if err != nil {
		s.fail("MARKREAD", "INVALID_PARAMS", irc.Cut(target, irc.MaxRoom), "You have to be in the room, or one of the two who talk")
		return
	}
	stamp, given := strings.CutPrefix(value, "timestamp=")
	at, bad := time.Parse(time.RFC3339Nano, stamp)
	if value != "" && (!given || bad != nil) {
		s.fail("MARKREAD", "INVALID_PARAMS", irc.Cut(target, irc.MaxRoom), "A marker is timestamp=YYYY-MM-DDThh:mm:ss.sssZ")
		return
	}
	if value != "" {
		offset, err := f.log.Seek(at.Truncate(time.Millisecond).Add(time.Millisecond))
		s.complain(f, err)
		if err := s.svc.accounts.SaveMark(s.login.Name, account.ReadMarker, f.key, offset); err != nil {
			s.svc.o.Log.Error("a read marker cannot be written", "account", s.login.Name, "error", err)
			s.fail("MARKREAD", "INTERNAL_ERROR", irc.Cut(target, irc.MaxRoom), "The marker was not stored, and stays where it is: "+publicError(err))
			return
		}
	}
	line := s.markerLine(f)
	s.svc.mu.Lock()
	defer s.svc.unlock()
	s.out = append(s.out, line...)
	if value == "" {
		return
	}
	for _, other := range s.user.sessions {
		if other != s && other.has(irc.CapReadMarker) {
			other.conn.Send(line)
		}
	}
}

// markerLine says where the marker is.
func (s *session) markerLine(f *feed) []byte {
	return irc.AppendLine(nil, s.svc.o.Name, "MARKREAD", f.target(s), f.markerOf(s.login))
}

// markerOf is where the marker of a login is, as MARKREAD has it: "*" for none, as for a guest. It
// waits for the disk.
func (f *feed) markerOf(login account.Login) string {
	if login.Account == nil {
		return "*"
	}
	if offset, ok := f.svc.accounts.Mark(login.Name, account.ReadMarker, f.key); ok && offset > 0 {
		if lines, err := f.log.Latest(1, offset); err == nil && len(lines) == 1 {
			return "timestamp=" + lines[0].Time().UTC().Format(irc.TimeFormat)
		}
	}
	return "*"
}

// markers are the markers of the accounts in a room, by account, for clients that have no other way
// to learn that it is called otherwise. The caller does not hold the lock.
func (r *room) markers() map[string]string {
	logins := map[string]account.Login{}
	r.svc.locked(func() {
		for _, seat := range r.seats {
			if to := seat.session; to.user != nil && to.user.account != "" && to.has(irc.CapReadMarker) && !to.has(irc.CapRename) {
				logins[to.user.account] = to.login
			}
		}
	})
	all := map[string]string{"": "*"}
	for name, login := range logins {
		all[name] = r.markerOf(login)
	}
	return all
}

// readMarker tells a client that knows it where the marker is, as it joins.
func (s *session) readMarker(f *feed) {
	if f.room != nil && s.has(irc.CapReadMarker) {
		s.out = append(s.out, s.markerLine(f)...)
	}
}
