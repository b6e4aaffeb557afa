package chat

import (
	"strings"

	"weir/chat/irc"
)

func (s *session) cmdLusers(*irc.Message) {
	svc := s.svc
	known, hidden, opers := 0, 0, 0
	for _, u := range svc.users {
		known++
		if u.invisible {
			hidden++
		}
		if u.oper {
			opers++
		}
	}
	online := itoa(svc.sessionCount - svc.unregisteredCount)
	s.numeric(irc.RplLUserClient, "There are "+itoa(known-hidden)+" users and "+itoa(hidden)+" invisible on 1 servers")
	s.numeric(irc.RplLUserOp, itoa(opers), "operator(s) online")
	s.numeric(irc.RplLUserUnknown, itoa(svc.unregisteredCount), "unknown connection(s)")
	s.numeric(irc.RplLUserChannels, itoa(len(svc.rooms)), "channels formed")
	s.numeric(irc.RplLUserMe, "I have "+online+" clients and 0 servers")
	s.numeric(irc.RplLocalUsers, online, itoa(svc.peakSessions), "Current local users "+online+", max "+itoa(svc.peakSessions))
	s.numeric(irc.RplGlobalUsers, online, itoa(svc.peakSessions), "Current global users "+online+", max "+itoa(svc.peakSessions))
}

func (s *session) cmdMOTD(*irc.Message) {
	if s.svc.options().MOTD == "" {
		s.numeric(irc.ErrNoMOTD, "MOTD File is missing")
		return
	}
	s.numeric(irc.RplMOTDStart, "- "+s.svc.fixed.Name+" Message of the day -")
	for line := range strings.SplitSeq(strings.TrimRight(s.svc.options().MOTD, "\r\n"), "\n") {
		s.numeric(irc.RplMOTD, "- "+irc.Cut(strings.TrimRight(line, "\r"), 380))
	}
	s.numeric(irc.RplEndOfMOTD, "End of MOTD command")
}

func (s *session) cmdTime(*irc.Message) {
	s.numeric(irc.RplTime, s.svc.fixed.Name, s.svc.now.UTC().Format("Mon, 02 Jan 2006 15:04:05 UTC"))
}

func (s *session) cmdAdmin(*irc.Message) {
	s.numeric(irc.ErrNoAdminInfo, s.svc.fixed.Name, "No administrative info available")
}

func (s *session) cmdInfo(*irc.Message) {
	s.numeric(irc.RplInfo, version+": a chat that never loses an acknowledged message")
	s.numeric(irc.RplEndOfInfo, "End of INFO list")
}
