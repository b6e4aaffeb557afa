package chat

import (
	"weir/chat/irc"
)

// cmdRename gives a room another name (draft/channel-rename). Only the spelling of the name can change: its log is kept under its name.
func (s *session) cmdRename(m *irc.Message) {
	r := s.roomOfOps(m.Params[0])
	if r == nil {
		return
	}
	name, why := m.Params[1], irc.Cut(irc.Param(m, 2), irc.MaxTopic)
	if irc.Fold(name) != irc.Fold(r.name) {
		s.fail("RENAME", "CANNOT_RENAME", r.name, irc.Cut(name, irc.MaxRoom), "A room's name can change its letters from small to capital only: the history is kept under it")
		return
	}
	old := r.name
	change := s.svc.news(s.user, s, "RENAME", old, name, why)
	r.name, r.stateless = name, true
	s.svc.wants(&r.feed)
	for _, seat := range r.seats {
		if seat.session.has(irc.CapRename) {
			change.tell(seat.session)
		}
	}
}
