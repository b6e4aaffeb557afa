package core

import "weir/chat/irc"

// Messages that are not stored: those to and from guests, those to the members with a rank, and
// TAGMSG without a reaction.

// sendUnstored sends a message that is not stored. Its sender receives it only with echo-message.
func (s *Session) sendUnstored(m *message, target string, send func(*notification)) {
	params := []string{target}
	if m.command != "TAGMSG" {
		params = append(params, m.lines[0].text)
	}
	n := s.svc.userNotification(s.user, nil, m.command, params...)
	if len(m.lines) > 1 {
		n.multiline = &unstoredMultiline{m, s.user.source, target}
	}
	n.tags = append(n.tags, (";msgid=" + s.svc.newUnstoredID())...)
	if m.tags != "" {
		n.tags = append(append(n.tags, ';'), m.tags...)
	}
	if m.command == "TAGMSG" {
		n.requiredCaps = irc.CapMessageTags
	}
	n.requester, n.skipRequester = s, !s.has(irc.CapEchoMessage)
	send(n)
}

// unstoredMultiline is a message of several lines that is not stored.
type unstoredMultiline struct {
	*message
	source, target string
}

// append appends the message as a view shows it: like a stored one, see lineFormatter.appendPart.
func (m *unstoredMultiline) append(dst []byte, v irc.View, tags []byte) []byte {
	if v&irc.ViewMultiline == 0 {
		return m.appendLines(dst, v, tags)
	}
	dst = irc.AppendView(dst, v, "", tags, irc.AppendLine(nil, m.source, "BATCH", "+"+m.batchID, "draft/multiline", m.target))
	for _, line := range m.lines {
		extra := "batch=" + m.batchID
		if line.concat {
			extra += ";draft/multiline-concat"
		}
		dst = irc.AppendView(dst, 0, extra, nil, irc.AppendLine(nil, m.source, m.command, m.target, line.text))
	}
	return irc.AppendLine(dst, m.source, "BATCH", "-"+m.batchID)
}

// appendLines appends the message as single messages. The first has the id; empty lines are left
// out.
func (m *unstoredMultiline) appendLines(dst []byte, v irc.View, tags []byte) []byte {
	for _, line := range m.lines {
		if line.text != "" {
			dst = irc.AppendView(dst, v, "", tags, irc.AppendLine(nil, m.source, m.command, m.target, line.text))
			v &^= irc.ViewTags
		}
	}
	return dst
}
