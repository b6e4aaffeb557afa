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
	there := itoa(svc.sessions - svc.unknown)
	s.num(irc.RplLUserClient, "There are "+itoa(known-hidden)+" users and "+itoa(hidden)+" invisible on 1 servers")
	s.num(irc.RplLUserOp, itoa(opers), "operator(s) online")
	s.num(irc.RplLUserUnknown, itoa(svc.unknown), "unknown connection(s)")
	s.num(irc.RplLUserChannels, itoa(len(svc.rooms)), "channels formed")
	s.num(irc.RplLUserMe, "I have "+there+" clients and 0 servers")
	s.num(irc.RplLocalUsers, there, itoa(svc.peak), "Current local users "+there+", max "+itoa(svc.peak))
	s.num(irc.RplGlobalUsers, there, itoa(svc.peak), "Current global users "+there+", max "+itoa(svc.peak))
}

func (s *session) cmdMOTD(*irc.Message) {
	if s.svc.opts().MOTD == "" {
		s.num(irc.ErrNoMOTD, "MOTD File is missing")
		return
	}
	s.num(irc.RplMOTDStart, "- "+s.svc.o.Name+" Message of the day -")
	for line := range strings.SplitSeq(strings.TrimRight(s.svc.opts().MOTD, "\r\n"), "\n") {
		s.num(irc.RplMOTD, "- "+irc.Cut(strings.TrimRight(line, "\r"), 380))
	}
	s.num(irc.RplEndOfMOTD, "End of MOTD command")
}

func (s *session) cmdTime(*irc.Message) {
	s.num(irc.RplTime, s.svc.o.Name, s.svc.o.Now().UTC().Format("Mon, 02 Jan 2006 15:04:05 UTC"))
}

func (s *session) cmdAdmin(*irc.Message) {
	s.num(irc.ErrNoAdminInfo, s.svc.o.Name, "No administrative info available")
}

func (s *session) cmdInfo(*irc.Message) {
	s.num(irc.RplInfo, version+": a chat that never loses an acknowledged message")
	s.num(irc.RplEndOfInfo, "End of INFO list")
}
