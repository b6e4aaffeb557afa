package chat

import (
	"strconv"
	"strings"
	"time"

	"weir/chat/account"
	"weir/chat/irc"
)

// parseInt parses an offset.
func parseInt(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) }

// The read marker of MARKREAD (draft/read-marker) belongs to an account and is shared by all its
// clients. It is stored beside the read markers of the account's devices. Guests have none.

// markerCost is the number of commands that a MARKREAD with a time counts as: it needs two fsyncs,
// of file and folder, where a message needs one.
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
		s.startTask(func() { s.setReadMarker(target, irc.Param(m, 1)) })
	}
}

// setReadMarker sets or gets the marker. It is a task.
func (s *session) setReadMarker(target, value string) {
	f, err := s.readableConversation(target)
	if err != nil {
		s.fail("MARKREAD", "INVALID_PARAMS", irc.Cut(target, irc.MaxRoom), "Join the room first, or name an account with which you have direct messages")
		return
	}
	stamp, given := strings.CutPrefix(value, "timestamp=")
	at, parseErr := time.Parse(time.RFC3339Nano, stamp)
	if value != "" && (!given || parseErr != nil) {
		s.fail("MARKREAD", "INVALID_PARAMS", irc.Cut(target, irc.MaxRoom), "A marker is timestamp=YYYY-MM-DDThh:mm:ss.sssZ")
		return
	}
	login, marker := s.login, ""
	s.task.await(func() {
		if value != "" {
			err = f.saveReadMarker(login, at)
		}
		marker = f.readMarkerOf(login)
	})
	if err != nil {
		s.svc.fixed.Log.Error("a read marker cannot be written", "account", login.Name, "error", err)
		s.fail("MARKREAD", "INTERNAL_ERROR", irc.Cut(target, irc.MaxRoom), "The marker was not stored, and stays where it is: "+publicError(err))
		return
	}
	line := s.readMarkerLine(f, marker)
	s.replies = append(s.replies, line...)
	if value == "" || s.user == nil {
		return
	}
	for _, other := range s.user.sessions {
		if other != s && other.has(irc.CapReadMarker) {
			other.conn.Send(line)
		}
	}
}

// saveReadMarker stores the marker of an account at a time. It waits for the disk.
func (f *conversation) saveReadMarker(login account.Login, at time.Time) error {
	offset, err := f.log.Seek(at.Truncate(time.Millisecond).Add(time.Millisecond))
	f.logReadError(err)
	return f.svc.env.accounts.SaveReadMarker(login.Name, account.SharedDevice, f.logID, offset)
}

// readMarkerLine returns a MARKREAD line.
func (s *session) readMarkerLine(f *conversation, marker string) []byte {
	return irc.AppendLine(nil, s.svc.fixed.Name, "MARKREAD", f.nameFor(s), marker)
}

// readMarkerOf returns the marker of a login as MARKREAD shows it: "*" for none or a guest. It
// waits for the disk.
func (f *conversation) readMarkerOf(login account.Login) string {
	if login.Account == nil {
		return "*"
	}
	if offset, ok := f.svc.env.accounts.ReadMarker(login.Name, account.SharedDevice, f.logID); ok && offset > 0 {
		if lines, err := f.log.Latest(1, offset); err == nil && len(lines) == 1 {
			return "timestamp=" + lines[0].Time().UTC().Format(irc.TimeFormat)
		}
	}
	return "*"
}

// readMarkersByAccount returns the markers of the accounts in a room, for clients that support read
// markers but not RENAME: they see a part and a join. It is a task.
func (r *room) readMarkersByAccount(t *task) map[string]string {
	logins := map[string]account.Login{}
	for _, sub := range r.subscriptions {
		if to := sub.session; to.user != nil && to.user.account != "" && to.has(irc.CapReadMarker) && !to.has(irc.CapRename) {
			logins[to.user.account] = to.login
		}
	}
	all := map[string]string{"": "*"}
	t.await(func() {
		for name, login := range logins {
			all[name] = r.readMarkerOf(login)
		}
	})
	return all
}

// sendReadMarker sends the marker of a room that the session joins, if the client supports it. It
// is a task.
func (s *session) sendReadMarker(f *conversation) {
	if f.room != nil && s.has(irc.CapReadMarker) {
		login, marker := s.login, "*"
		if login.Account != nil {
			s.task.await(func() { marker = f.readMarkerOf(login) })
		}
		s.replies = append(s.replies, s.readMarkerLine(f, marker)...)
	}
}
