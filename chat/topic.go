package chat

import (
	"weir/chat/irc"
	"weir/chat/log"
)

func (s *session) cmdTopic(m *irc.Message) {
	if len(m.Params) < 2 {
		r := s.svc.rooms[irc.Fold(m.Params[0])]
		if r != nil && s.user.oper || r != nil && !r.hasFlag('s') {
			s.sendTopic(r)
		} else if r = s.joinedRoom(m.Params[0]); r != nil {
			s.sendTopic(r)
		}
		if r != nil && r.topic == "" {
			s.numeric(irc.RplNoTopic, r.name, "No topic is set")
		}
		return
	}
	r := s.joinedRoom(m.Params[0])
	if r == nil {
		return
	}
	if r.hasFlag('t') && !s.user.rooms[r].isOperator() && !s.user.oper {
		s.numeric(irc.ErrChanOpNeeded, r.name, "You're not channel operator")
		return
	}
	s.setTopic(r, irc.Cut(m.Params[1], irc.MaxTopic))
}

// setTopic enqueues a new topic. It is stored like a message and takes effect after that.
func (s *session) setTopic(r *room, text string) {
	u, now := s.user, s.svc.now
	by := u.source
	r.putLocked(post{sender: s, label: s.label, lastLine: true,
		entry:   log.Entry{Time: now, Tags: u.tags(), Body: ":" + by + " TOPIC " + r.name + " :" + text},
		command: "TOPIC", change: func(d *draft) {
			d.topic, d.topicSetBy, d.topicSetAt = text, by, now
		}})
	s.deferredReply = true
}

// sendTopic sends the room's topic, if it has one.
func (s *session) sendTopic(r *room) {
	if r.topic != "" {
		s.numeric(irc.RplTopic, r.name, r.topic)
		s.numeric(irc.RplTopicWhoTime, r.name, r.topicSetBy, formatEpoch(r.topicSetAt))
	}
}

func (s *session) cmdNames(m *irc.Message) {
	name := irc.Param(m, 0)
	r := s.svc.rooms[irc.Fold(name)]
	if r == nil || !r.isVisibleTo(s.user) {
		if name == "" {
			name = "*"
		}
		s.numeric(irc.RplEndOfNames, irc.Cut(name, irc.MaxRoom), "End of NAMES list")
		return
	}
	s.sendNames(r)
}

// sendNames sends the list of a room's members.
func (s *session) sendNames(r *room) {
	caps, kind := s.caps, "="
	if r.hasFlag('s') {
		kind = "@"
	}
	var words []string
	for u, m := range r.members {
		if !s.user.canSee(u) {
			continue
		}
		name := u.nick
		if caps.Has(irc.CapUserhostInNames) {
			name = u.source
		}
		words = append(words, m.prefix(caps.Has(irc.CapMultiPrefix))+name)
	}
	if len(words) > 0 {
		for _, line := range irc.Wrap(words, 400) {
			s.replies = append(s.replies, ":"+s.svc.fixed.Name+" "+irc.RplNamReply+" "+s.nick()+" "+kind+" "+r.name+" :"+line+"\r\n"...)
		}
	}
	s.numeric(irc.RplEndOfNames, r.name, "End of NAMES list")
}

// replyCollectorLocked returns a copy of the session that collects replies for it while another
// goroutine owns the session. The caller holds mu.
func (s *session) replyCollectorLocked() *session {
	return &session{svc: s.svc, conn: s.conn, user: s.user, peer: s.peer, login: s.login, metadataSubs: s.metadataSubs, caps: s.caps}
}
