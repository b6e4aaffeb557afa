package chat

import (
	"strings"

	"weir/chat/irc"
	"weir/chat/log"
)

// maxTargets is how many targets a message may have.
const maxTargets = 4

// cmdMessage is PRIVMSG, NOTICE and TAGMSG.
func (s *session) cmdMessage(m *irc.Message) {
	if _, ref := m.GetTag("batch"); ref != "" && s.multi != nil && m.Command != "TAGMSG" {
		s.addPart(ref, m)
		return
	}
	text := irc.Param(m, 1)
	switch {
	case m.Command == "NOTICE" && (irc.Param(m, 0) == "" || text == ""):
		return
	case irc.Param(m, 0) == "":
		s.num(irc.ErrNoRecipient, "No recipient given ("+m.Command+")")
		return
	case text == "" && m.Command != "TAGMSG":
		s.num(irc.ErrNoTextToSend, "No text to send")
		return
	}
	s.user.spoke = s.svc.o.Now()
	targets := strings.Split(m.Params[0], ",")
	if len(targets) > maxTargets {
		if !irc.Silent(m.Command) {
			s.num(irc.ErrTooManyTargets, irc.Word(irc.Cut(targets[maxTargets], irc.MaxRoom)), "Too many targets: it goes to the first "+itoa(maxTargets))
		}
		targets = targets[:maxTargets]
	}
	s.charge(len(targets) - 1)
	for _, target := range targets {
		if target == "" {
			continue
		}
		s.message(&message{verb: m.Command, target: target, lines: []part{{text: text}}, tags: irc.ClientTags(m)})
	}
	if len(targets) > 1 {
		s.lastRoom = "" // none but its own end follows it
	}
}

// message is something said to a target.
type message struct {
	verb, target string
	lines        []part // one, but for multiline
	tags         string // client-only
	batch        string // of multiline
}

type part struct {
	text   string
	concat bool // it goes on where the part before ends
}

// kept says whether a message is stored: what was said, and reactions, which belong to it.
func (m *message) kept() bool {
	return m.verb != "TAGMSG" || strings.HasPrefix(m.tags, "+draft/react=") || strings.Contains(m.tags, ";+draft/react=")
}

// message sends a message on its way to one target.
func (s *session) message(m *message) {
	if rank := strings.IndexByte(irc.RankPrefixes, (m.target + " ")[0]); rank >= 0 && irc.IsRoom(m.target[1:]) {
		s.toRank(m, irc.RoomRanks[:rank+1])
		return
	}
	if irc.IsRoom(m.target) {
		s.toRoom(m)
		return
	}
	s.toUser(m)
}

// toRoom stores a message for a room.
func (s *session) toRoom(m *message) {
	r := s.svc.rooms[irc.Fold(m.target)]
	if code, why := s.maySpeak(r, m); code != "" {
		if !irc.Silent(m.verb) {
			s.num(code, irc.Cut(m.target, irc.MaxRoom), why)
		}
		return
	}
	if !m.kept() {
		s.passing(m, r.name, func(n *news) { n.toRoom(r) })
		return
	}
	s.store(&r.feed, m, r.name)
}

// maySpeak says why not, by a numeric and its text; "" if so.
func (s *session) maySpeak(r *room, m *message) (code, why string) {
	if r == nil || !r.sees(s.user) {
		return irc.ErrNoSuchChannel, "No such channel"
	}
	in := s.user.rooms[r]
	switch {
	case s.user.oper || in != nil && in.voice():
	case in == nil && r.has('n'):
		return irc.ErrCannotSend, "Cannot send to channel (+n): you are not in it"
	case r.has('m'):
		return irc.ErrCannotSend, "Cannot send to channel (+m): it is moderated"
	case len(r.bans) > 0 && r.banned(s.user):
		return irc.ErrCannotSend, "Cannot send to channel (+b): you are banned"
	case r.has('C') && len(m.lines[0].text) > 1 && m.lines[0].text[0] == 1 && !strings.HasPrefix(m.lines[0].text, "\x01ACTION "):
		return irc.ErrCannotSend, "Cannot send to channel (+C): no CTCP"
	}
	return "", ""
}

// store puts a message into a feed's next batch.
func (s *session) store(f *feed, m *message, target string) {
	now := s.svc.o.Now()
	tags := irc.JoinTags(s.user.tags(), m.tags)
	head := ":" + s.user.source + " " + m.verb + " " + target
	for i, line := range m.lines {
		body := head
		if m.verb != "TAGMSG" {
			body += " :" + line.text
		}
		p := post{from: s, text: true, last: i == len(m.lines)-1}
		p.entry = log.Entry{Time: now, Tags: tags, Body: body}
		if len(m.lines) > 1 {
			p.entry.Tags = irc.JoinTags(tags, multilineTag+"="+m.batch+"."+itoa(i)+"."+itoa(len(m.lines)))
			if line.concat {
				p.entry.Tags += ";draft/multiline-concat"
			}
		}
		if i == 0 && s.has(irc.CapEchoMessage) || p.last && !s.has(irc.CapEchoMessage) {
			p.label = s.label
		}
		f.put(p)
	}
	s.later = true
}

// passing tells of a message that is not stored. The sender is told where it asks for echoes.
func (s *session) passing(m *message, target string, tell func(*news)) {
	params := []string{target}
	if m.verb != "TAGMSG" {
		params = append(params, m.lines[0].text)
	}
	n := s.svc.news(s.user, nil, m.verb, params...)
	n.tags = append(n.tags, (";msgid=" + s.svc.passingID())...)
	if m.tags != "" {
		n.tags = append(append(n.tags, ';'), m.tags...)
	}
	if m.verb == "TAGMSG" {
		n.need = irc.CapMessageTags
	}
	n.by, n.quiet = s, !s.has(irc.CapEchoMessage)
	tell(n)
}

// toRank tells those in a room who have one of the ranks.
func (s *session) toRank(m *message, ranks string) {
	target := m.target
	r := s.svc.rooms[irc.Fold(target[1:])]
	if code, why := s.maySpeak(r, m); code != "" {
		if !irc.Silent(m.verb) {
			s.num(code, irc.Cut(target, irc.MaxRoom), why)
		}
		return
	}
	s.passing(m, target[:1]+r.name, func(n *news) {
		for _, seat := range r.seats {
			if at := r.members[seat.session.user]; seat.live && at != nil && strings.ContainsAny(at.ranks, ranks) || seat.session == s {
				n.tell(seat.session)
			}
		}
	})
}
