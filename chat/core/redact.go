package core

import (
	"bytes"
	"strings"

	"weir/chat/irc"
	"weir/chat/log"
)

// rewriteCost is the number of commands that a command counts as if it rewrites a file. A redaction
// rewrites a segment of some megabytes while the room waits.
const rewriteCost = 10

// cmdRedact deletes a message's text (draft/message-redaction). Its author and the room's operators
// may do so.
func (s *Session) cmdRedact(m *irc.Message) {
	s.charge(rewriteCost - 1)
	target, msgid, reason := m.Params[0], m.Params[1], irc.Cut(irc.Param(m, 2), irc.MaxTopic)
	s.startTask(func() {
		code, text := s.redact(target, msgid, reason)
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

// redact deletes a message. It is a task. It returns the code and text of a FAIL, or "".
func (s *Session) redact(target, msgid, reason string) (code, text string) {
	f, err := s.readableConversation(target)
	if err != nil {
		return "INVALID_TARGET", "Join the room first, or name an account with which you have direct messages"
	}
	offset, ok := f.offsetOfID(msgid)
	if !ok {
		return "UNKNOWN_MSGID", "There is no such message here"
	}
	var line log.Line
	s.task.await(func() { line, err = f.log.At(offset) })
	if err != nil || line.Redacted() || !isTextMessage(line) && !isCommand(line.Plain(), tagmsgWord) {
		return "UNKNOWN_MSGID", "There is no such message here"
	}
	if !s.canRedact(f, line) {
		return "REDACT_FORBIDDEN", "You may not delete this message"
	}
	s.task.await(func() {
		var parts []int64
		if parts, err = f.partOffsets(line); err == nil {
			err = f.log.Redact(parts...)
		}
	})
	if err != nil {
		f.logReadError(err)
		return "INTERNAL_ERROR", "The message could not be deleted: " + publicError(err)
	}
	if !s.isActive() {
		return "", ""
	}
	where := f.name
	if f.room == nil {
		where = string(bytes.Fields(line.Plain())[2])
	}
	// the canonical id, even if the client wrote it with leading zeros
	body := ":" + s.user.source + " REDACT " + where + " " + line.MsgID()
	if reason != "" {
		body += " :" + reason
	}
	f.put(post{sender: s, label: s.label, lastLine: true, entry: log.Entry{Time: s.svc.now, Tags: s.user.tags(), Body: body}, onRefused: s.onRefusedRedaction(f, body)})
	s.deferredReply = true
	return "", ""
}

// onRefusedRedaction returns the action for a redaction whose line the log refuses. The text
// is deleted already, so the members are notified nevertheless: their clients still show it.
func (s *Session) onRefusedRedaction(f *conversation, body string) func() {
	to, label := s.replyCollector(), s.label
	n := &notification{tags: irc.AppendTime(nil, s.svc.now), body: []byte(body + "\r\n"), requiredCaps: irc.CapRedaction}
	if more := s.user.tags(); more != "" {
		n.tags = append(append(n.tags, ';'), more...)
	}
	return func() {
		n.requester, n.skipRequester = s, true
		for _, sub := range f.receivers() {
			if sub.state == live {
				n.sendTo(sub.session)
			}
		}
		n.requester, n.skipRequester = to, false
		to.beginCommand(label)
		n.sendTo(to)
		to.finishCommand()
		if len(to.replies) > 0 {
			s.conn.Send(to.replies)
		}
	}
}

// canRedact reports whether the session's user wrote a line or operates its room.
func (s *Session) canRedact(f *conversation, line log.Line) bool {
	if s.user.oper {
		return true
	}
	if f.room != nil && f.room.members[s.user] != nil && f.room.members[s.user].isOperator() {
		return true
	}
	by, _ := line.Tag("account")
	return by != "" && strings.EqualFold(by, s.user.account)
}
