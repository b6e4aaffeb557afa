package chat

import (
	"weir/chat/irc"
	"weir/chat/log"
)

func (s *session) cmdTopic(m *irc.Message) {
	if len(m.Params) < 2 {
		r := s.svc.rooms[irc.Fold(m.Params[0])]
		if r != nil && s.user.oper || r != nil && !r.has('s') {
			s.topic(r)
		} else if r = s.roomOfMine(m.Params[0]); r != nil {
			s.topic(r)
		}
		if r != nil && r.topic == "" {
			s.num(irc.RplNoTopic, r.name, "No topic is set")
		}
		return
	}
	r := s.roomOfMine(m.Params[0])
	if r == nil {
		return
	}
	if r.has('t') && !s.user.rooms[r].op() && !s.user.oper {
		s.num(irc.ErrChanOpNeeded, r.name, "You're not channel operator")
		return
	}
	s.setTopic(r, irc.Cut(m.Params[1], irc.MaxTopic))
}

// setTopic puts the new topic on its way: it is stored like a message, and holds once it is.
func (s *session) setTopic(r *room, text string) {
	u, now := s.user, s.svc.o.Now()
	by := u.source
	r.put(post{from: s, label: s.label, last: true,
		entry:   log.Entry{Time: now, Tags: u.tags(), Body: ":" + by + " TOPIC " + r.name + " :" + text},
		command: "TOPIC", change: func(d *draft) {
			d.topic, d.topicBy, d.topicAt = text, by, now
		}})
	s.later = true
}

// topic tells the session what a room's topic is; nothing, where there is none.
func (s *session) topic(r *room) {
	if r.topic != "" {
		s.num(irc.RplTopic, r.name, r.topic)
		s.num(irc.RplTopicWhoTime, r.name, r.topicBy, epoch(r.topicAt))
	}
}

func (s *session) cmdNames(m *irc.Message) {
	name := irc.Param(m, 0)
	r := s.svc.rooms[irc.Fold(name)]
	if r == nil || !r.sees(s.user) {
		if name == "" {
			name = "*"
		}
		s.num(irc.RplEndOfNames, irc.Cut(name, irc.MaxRoom), "End of NAMES list")
		return
	}
	s.names(r)
}

// names tells the session who is in a room.
func (s *session) names(r *room) {
	caps, kind := s.capSet(), "="
	if r.has('s') {
		kind = "@"
	}
	var words []string
	for u, m := range r.members {
		if !s.user.sees(u) {
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
			s.out = append(s.out, ":"+s.svc.o.Name+" "+irc.RplNamReply+" "+s.nick()+" "+kind+" "+r.name+" :"+line+"\r\n"...)
		}
	}
	s.num(irc.RplEndOfNames, r.name, "End of NAMES list")
}

// standIn collects what a session is to be told whose owner is somebody else. The caller holds the
// lock.
func (s *session) standIn() *session {
	to := &session{svc: s.svc, conn: s.conn, user: s.user, peer: s.peer, login: s.login, subs: s.subs}
	to.caps.Store(s.caps.Load())
	return to
}
