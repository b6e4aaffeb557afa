package chat

import (
	"bytes"
	"strings"

	"weir/chat/irc"
	"weir/chat/log"
)

// rewrite is how many commands one counts as that has a file written anew: of a redaction it is a
// segment of some megabytes, while the room waits.
const rewrite = 10

// cmdRedact takes a message's text away (draft/message-redaction): who wrote it may, and a room's
// operators.
func (s *session) cmdRedact(m *irc.Message) {
	s.charge(rewrite - 1)
	target, msgid, why := m.Params[0], m.Params[1], irc.Cut(irc.Param(m, 2), irc.MaxTopic)
	s.slow(func() {
		code, text := s.redact(target, msgid, why)
		target, msgid := irc.Word(irc.Cut(target, irc.MaxRoom)), irc.Word(irc.Cut(msgid, 64))
		switch code {
		case "":
		case "INVALID_TARGET":
			s.fail("REDACT", code, target, text)
		default:
			s.fail("REDACT", code, target, msgid, text)
		}
	})
}

// redact runs at the desk. It returns the code and text of a FAIL; "" if there is none.
func (s *session) redact(target, msgid, why string) (code, text string) {
	f, err := s.feedOf(target)
	if err != nil {
		return "INVALID_TARGET", "You have to be in the room, or one of the two who talk"
	}
	offset, ok := f.offsetOf(msgid)
	if !ok {
		return "UNKNOWN_MSGID", "There is no such message here"
	}
	line, err := f.log.At(offset)
	if err != nil || line.Redacted() || !isText(line) && !isCommand(line.Plain(), tagmsgWord) {
		return "UNKNOWN_MSGID", "There is no such message here"
	}
	if !s.mayRedact(f, line) {
		return "REDACT_FORBIDDEN", "You may not delete this message"
	}
	parts, err := f.partsFrom(line)
	if err == nil {
		err = f.log.Redact(parts...)
	}
	if err != nil {
		s.complain(f, err)
		return "INTERNAL_ERROR", "The message could not be deleted: " + publicError(err)
	}
	s.svc.mu.Lock()
	defer s.svc.unlock()
	if s.user == nil || s.gone {
		return "", ""
	}
	where := f.name
	if f.room == nil {
		where = string(bytes.Fields(line.Plain())[2])
	}
	// as all know it, whatever zeros the sender writes
	body := ":" + s.user.source + " REDACT " + where + " " + line.MsgID()
	if why != "" {
		body += " :" + why
	}
	f.put(post{from: s, label: s.label, last: true, entry: log.Entry{Time: s.svc.o.Now(), Tags: s.user.tags(), Body: body}, unstored: s.unstoredRedaction(f, body)})
	s.later = true
	return "", ""
}

// unstoredRedaction returns what happens if the log refuses the line of a redaction, whose text is
// gone already: the members are told nevertheless, because their clients still show the text. The
// caller holds the lock.
func (s *session) unstoredRedaction(f *feed, body string) func() {
	to, label := s.standIn(), s.label
	n := &news{tags: irc.AppendTime(nil, s.svc.o.Now()), body: []byte(body + "\r\n"), need: irc.CapRedaction}
	if more := s.user.tags(); more != "" {
		n.tags = append(append(n.tags, ';'), more...)
	}
	return func() {
		n.by, n.quiet = s, true
		for _, seat := range f.audience(nil) {
			n.tell(seat.session)
		}
		n.by, n.quiet = to, false
		to.begin(label)
		n.tell(to)
		to.finish()
		if len(to.out) > 0 {
			s.conn.Send(to.out)
		}
	}
}

// mayRedact says whether the session's user wrote a line, or has a say where it stands.
func (s *session) mayRedact(f *feed, line log.Line) bool {
	s.svc.mu.Lock()
	defer s.svc.mu.Unlock()
	if s.user.oper {
		return true
	}
	if f.room != nil && f.room.members[s.user] != nil && f.room.members[s.user].op() {
		return true
	}
	by, _ := line.Tag("account")
	return by != "" && strings.EqualFold(by, s.user.account)
}
