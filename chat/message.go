package chat

import (
	"strings"

	"weir/chat/irc"
	"weir/chat/log"
)

// maxTargets limits the targets of one message.
const maxTargets = 4

// cmdMessage handles PRIVMSG, NOTICE and TAGMSG.
func (s *session) cmdMessage(m *irc.Message) {
	if _, ref := m.GetTag("batch"); ref != "" && s.multiline != nil && m.Command != "TAGMSG" {
		s.addMultilineLine(ref, m)
		return
	}
	text := irc.Param(m, 1)
	switch {
	case m.Command == "NOTICE" && (irc.Param(m, 0) == "" || text == ""):
		return
	case irc.Param(m, 0) == "":
		s.numeric(irc.ErrNoRecipient, "No recipient given ("+m.Command+")")
		return
	case text == "" && m.Command != "TAGMSG":
		s.numeric(irc.ErrNoTextToSend, "No text to send")
		return
	}
	s.user.lastSpokeAt = s.svc.now
	targets := strings.Split(m.Params[0], ",")
	if len(targets) > maxTargets {
		if !irc.Silent(m.Command) {
			s.numeric(irc.ErrTooManyTargets, irc.Word(irc.Cut(targets[maxTargets], irc.MaxRoom)), "Too many targets: it goes to the first "+itoa(maxTargets))
		}
		targets = targets[:maxTargets]
	}
	s.charge(len(targets) - 1)
	for _, target := range targets {
		if target == "" {
			continue
		}
		s.sendMessage(&message{command: m.Command, target: target, lines: []messageLine{{text: text}}, tags: irc.ClientTags(m)})
	}
	if len(targets) > 1 {
		s.pendingTarget = "" // no next message continues this one
	}
}

// message is a PRIVMSG, NOTICE or TAGMSG to one target.
type message struct {
	command, target string
	lines           []messageLine // one line, except for multiline
	tags            string        // client-only tags
	batchID         string        // id of a multiline message
}

type messageLine struct {
	text   string
	concat bool // joined to the previous line without a line break
}

// isStored reports whether a message is stored. TAGMSG is stored only if it is a reaction.
func (m *message) isStored() bool {
	return m.command != "TAGMSG" || strings.HasPrefix(m.tags, "+draft/react=") || strings.Contains(m.tags, ";+draft/react=")
}

// sendMessage sends a message to one target.
func (s *session) sendMessage(m *message) {
	if rank := strings.IndexByte(irc.RankPrefixes, (m.target + " ")[0]); rank >= 0 && irc.IsRoom(m.target[1:]) {
		s.sendToRank(m, irc.RoomRanks[:rank+1])
		return
	}
	if irc.IsRoom(m.target) {
		s.sendToRoom(m)
		return
	}
	s.sendToUser(m)
}

// sendToRoom sends a message to a room.
func (s *session) sendToRoom(m *message) {
	r := s.svc.rooms[irc.Fold(m.target)]
	if code, reason := s.speechRefusal(r, m); code != "" {
		if !irc.Silent(m.command) {
			s.numeric(code, irc.Cut(m.target, irc.MaxRoom), reason)
		}
		return
	}
	if !m.isStored() {
		s.sendUnstored(m, r.name, func(n *notification) { n.sendToRoom(r) })
		return
	}
	s.storeMessage(&r.conversation, m, r.name)
}

// speechRefusal returns the numeric and text that refuse a message to a room, or "" if it is
// allowed.
func (s *session) speechRefusal(r *room, m *message) (code, reason string) {
	if r == nil || !r.isVisibleTo(s.user) {
		return irc.ErrNoSuchChannel, "No such channel"
	}
	in := s.user.rooms[r]
	switch {
	case s.user.oper || in != nil && in.hasVoice():
	case in == nil && r.hasFlag('n'):
		return irc.ErrCannotSend, "Cannot send to channel (+n): you are not in it"
	case r.hasFlag('m'):
		return irc.ErrCannotSend, "Cannot send to channel (+m): it is moderated"
	case len(r.bans) > 0 && r.isBanned(s.user):
		return irc.ErrCannotSend, "Cannot send to channel (+b): you are banned"
	case r.hasFlag('C') && len(m.lines[0].text) > 1 && m.lines[0].text[0] == 1 && !strings.HasPrefix(m.lines[0].text, "\x01ACTION "):
		return irc.ErrCannotSend, "Cannot send to channel (+C): no CTCP"
	}
	return "", ""
}

// storeMessage adds a message to the conversation's next batch.
func (s *session) storeMessage(f *conversation, m *message, target string) {
	now := s.svc.now
	tags := irc.JoinTags(s.user.tags(), m.tags)
	head := ":" + s.user.source + " " + m.command + " " + target
	for i, line := range m.lines {
		body := head
		if m.command != "TAGMSG" {
			body += " :" + line.text
		}
		p := post{sender: s, isMessage: true, lastLine: i == len(m.lines)-1}
		p.entry = log.Entry{Time: now, Tags: tags, Body: body}
		if len(m.lines) > 1 {
			p.entry.Tags = irc.JoinTags(tags, multilineTag+"="+m.batchID+"."+itoa(i)+"."+itoa(len(m.lines)))
			if line.concat {
				p.entry.Tags += ";draft/multiline-concat"
			}
		}
		if i == 0 && s.has(irc.CapEchoMessage) || p.lastLine && !s.has(irc.CapEchoMessage) {
			p.label = s.label
		}
		f.putLocked(p)
	}
	s.deferredReply = true
}

// sendUnstored sends a message that is not stored. Its sender receives it only with echo-message.
func (s *session) sendUnstored(m *message, target string, send func(*notification)) {
	params := []string{target}
	if m.command != "TAGMSG" {
		params = append(params, m.lines[0].text)
	}
	n := s.svc.userNotification(s.user, nil, m.command, params...)
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

// sendToRank sends a message to the members of a room that have one of the ranks.
func (s *session) sendToRank(m *message, ranks string) {
	target := m.target
	r := s.svc.rooms[irc.Fold(target[1:])]
	if code, reason := s.speechRefusal(r, m); code != "" {
		if !irc.Silent(m.command) {
			s.numeric(code, irc.Cut(target, irc.MaxRoom), reason)
		}
		return
	}
	s.sendUnstored(m, target[:1]+r.name, func(n *notification) {
		for _, sub := range r.subscriptions {
			if at := r.members[sub.session.user]; sub.state == live && at != nil && strings.ContainsAny(at.ranks, ranks) || sub.session == s {
				n.sendTo(sub.session)
			}
		}
	})
}
