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

// The read marker (draft/read-marker) is what the clients of a person share: a mark of the account's, besides
// those of its devices. Who has no account has none.

func (s *session) cmdMarkRead(m *irc.Message) {
	target := irc.Param(m, 0)
	switch {
	case target == "":
		s.fail("MARKREAD", "NEED_MORE_PARAMS", "Missing parameters")
	case s.login.Account == nil:
		s.fail("MARKREAD", "ACCOUNT_REQUIRED", "You have to log in")
	default:
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
	stamp := "*"
	if offset, ok := s.svc.accounts.Mark(s.login.Name, account.ReadMarker, f.key); ok && offset > 0 {
		if lines, err := f.log.Latest(1, offset); err == nil && len(lines) == 1 {
			stamp = "timestamp=" + lines[0].Time().UTC().Format(irc.TimeFormat)
		}
	}
	return irc.AppendLine(nil, s.svc.o.Name, "MARKREAD", f.target(s), stamp)
}

// readMarker tells a client that knows it where the marker is, as it joins.
func (s *session) readMarker(f *feed) {
	if f.room != nil && s.login.Account != nil && s.has(irc.CapReadMarker) {
		s.out = append(s.out, s.markerLine(f)...)
	}
}
