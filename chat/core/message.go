package core

import (
	"slices"
	"strings"

	"weir/chat/irc"
	"weir/chat/log"
)

// maxTargets limits the targets of one message.
const maxTargets = 4

// cmdMessage handles PRIVMSG, NOTICE and TAGMSG.
func (s *Session) cmdMessage(m *irc.Message) {
	if _, ref := m.GetTag("batch"); ref != "" && s.has(irc.CapMultiline) && m.Command != "TAGMSG" {
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
func (s *Session) sendMessage(m *message) {
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
func (s *Session) sendToRoom(m *message) {
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
func (s *Session) speechRefusal(r *room, m *message) (code, reason string) {
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
func (s *Session) storeMessage(f *conversation, m *message, target string) {
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
		hasReply := i == 0 && s.has(irc.CapEchoMessage) || p.lastLine && !s.has(irc.CapEchoMessage)
		if hasReply && !s.deferredReply { // of several targets the first has the label
			p.label = s.label
		}
		f.put(p)
	}
	s.deferredReply = true
}

// sendToRank sends a message to the members of a room that have one of the ranks.
func (s *Session) sendToRank(m *message, ranks string) {
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

// multiline is a message of several lines that a client is sending as a batch (draft/multiline).
type multiline struct {
	batchRef, label string
	message         message
	bytes           int
	// FAIL code for the reply to the end of the batch, with a context behind a space; "": no fault
	// yet
	faultCode string
}

func (s *Session) cmdBatch(m *irc.Message) {
	ref := m.Params[0]
	switch {
	case s.multiline == nil && strings.HasPrefix(ref, "+") && irc.Param(m, 1) == "draft/multiline" && irc.Param(m, 2) != "" && s.has(irc.CapMultiline):
		s.multiline = &multiline{batchRef: ref[1:], label: s.label, message: message{target: m.Params[2], tags: irc.ClientTags(m)}}
		s.label = "" // the reply is to the end of the batch
	case s.multiline != nil && ref == "-"+s.multiline.batchRef:
		s.finishMultiline()
	case strings.HasPrefix(ref, "+") && irc.Param(m, 1) != "draft/multiline":
		s.fail("BATCH", "UNKNOWN_TYPE", irc.Cut(irc.Param(m, 1), 64), "This type of batch is not known")
	default:
		s.multiline = nil
		s.fail("BATCH", "MULTILINE_INVALID", "A batch begins once, with a target, and ends by its own name")
	}
}

// addMultilineLine adds a line to the batch, or refuses it if there is none.
func (s *Session) addMultilineLine(ref string, m *irc.Message) {
	b := s.multiline
	if b == nil {
		s.fail("BATCH", "MULTILINE_INVALID", "The line was not sent: its batch was refused, or has not begun")
		return
	}
	if b.faultCode != "" {
		return
	}
	text := irc.Param(m, 1)
	concat, _ := m.GetTag("draft/multiline-concat")
	b.bytes += len(text)
	if !concat && len(b.message.lines) > 0 {
		b.bytes++ // the line break
	}
	switch {
	case ref == b.batchRef && irc.Fold(irc.Param(m, 0)) != irc.Fold(b.message.target):
		b.faultCode = "MULTILINE_INVALID_TARGET " + irc.Word(irc.Cut(irc.Param(m, 0), irc.MaxRoom))
	case ref != b.batchRef, b.message.command != "" && b.message.command != m.Command, concat && text == "":
		b.faultCode = "MULTILINE_INVALID"
	case len(b.message.lines) == irc.MultilineLines:
		b.faultCode = "MULTILINE_MAX_LINES"
	case b.bytes > irc.MultilineBytes:
		b.faultCode = "MULTILINE_MAX_BYTES"
	default:
		b.message.command = m.Command
		b.message.lines = append(b.message.lines, messageLine{text, concat})
	}
}

// finishMultiline sends the collected message.
func (s *Session) finishMultiline() {
	b := s.multiline
	s.multiline = nil
	s.label = b.label
	blank := true
	for _, line := range b.message.lines {
		blank = blank && line.text == ""
	}
	if b.faultCode == "" && blank {
		b.faultCode = "MULTILINE_INVALID"
	}
	switch code, context, _ := strings.Cut(b.faultCode, " "); code {
	case "":
		b.message.batchID = "ml" + s.svc.newUnstoredID()
		s.user.lastSpokeAt = s.svc.now
		s.sendMessage(&b.message)
	case "MULTILINE_MAX_LINES":
		s.fail("BATCH", code, itoa(irc.MultilineLines), "The message has too many lines")
	case "MULTILINE_MAX_BYTES":
		s.fail("BATCH", code, itoa(irc.MultilineBytes), "The message has too many bytes")
	case "MULTILINE_INVALID_TARGET":
		s.fail("BATCH", code, irc.Word(irc.Cut(b.message.target, irc.MaxRoom)), context, "The lines of a message have the target of their batch")
	default:
		s.fail("BATCH", code, "The lines of a message have one target and one command, and are not all empty")
	}
}

// A multiline message is stored as consecutive lines of the log, appended at once.

// multilineTag marks the lines of one multiline message. Its value is BATCH.NUMBER.COUNT; numbers
// start from 0.
const multilineTag = irc.OwnTags + "batch"

// multilinePart is a line's place in a multiline message: number n, from 0, of so many.
type multilinePart struct {
	message string
	n, of   int
}

// partOf returns the place of a line in its multiline message; ok is false for other lines.
func partOf(line log.Line) (p multilinePart, ok bool) {
	value, ok := line.Tag(multilineTag)
	id, numbers, _ := strings.Cut(value, ".")
	n, of, _ := strings.Cut(numbers, ".")
	return multilinePart{id, atoi(n), atoi(of)}, ok
}

// partOffsets returns the offsets of a line and of the later lines of its multiline message.
func (f *conversation) partOffsets(line log.Line) (parts []int64, err error) {
	first, _ := partOf(line)
	lines, err := f.log.After(line.Offset(), max(1, first.of-first.n))
	for _, next := range partsOfMessage(lines, first) {
		parts = append(parts, next.Offset())
	}
	return parts, err
}

// completeMessages adds to consecutive lines the missing lines of the messages at both ends.
func (f *conversation) completeMessages(lines []log.Line) ([]log.Line, error) {
	if len(lines) == 0 {
		return nil, nil
	}
	begin, end := lines[0], lines[len(lines)-1]
	first, _ := partOf(begin)
	last, _ := partOf(end)
	if first.n > 0 {
		before, err := f.log.Latest(first.n, begin.Offset())
		if err != nil {
			return nil, err
		}
		lines = slices.Concat(partsOfMessage(before, first), lines)
	}
	if last.n+1 < last.of {
		behind, err := f.log.After(end.Offset()+1, last.of-last.n-1)
		if err != nil {
			return nil, err
		}
		lines = slices.Concat(lines, partsOfMessage(behind, last))
	}
	return lines, nil
}

// partsOfMessage returns the lines that belong to the same multiline message as another.
func partsOfMessage(lines []log.Line, as multilinePart) []log.Line {
	return slices.DeleteFunc(lines, func(l log.Line) bool {
		p, _ := partOf(l)
		return p.message != as.message
	})
}
