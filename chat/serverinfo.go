package chat

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"weir/chat/irc"
)

// What clients ask about the server besides info.go's.

// isupport tells what the server can do.
func (s *session) isupport() {
	svc := s.svc
	words := irc.ISupport(irc.Limits{Network: svc.o.Network, Rooms: svc.opts().UserRooms, History: svc.opts().History, Monitor: maxMonitor,
		Bans: maxBans, Targets: maxTargets, Upload: svc.opts().Upload})
	for line := range slices.Chunk(words, 12) { // a line has 15 parameters at most
		s.num(irc.RplISupport, append(line[:len(line):len(line)], "are supported by this server")...)
	}
}

func (s *session) cmdVersion(*irc.Message) {
	s.num(irc.RplVersion, version, s.svc.o.Name, "")
	s.isupport()
}

// cmdStats answers STATS u, how long the server runs; there are no other statistics for users.
func (s *session) cmdStats(m *irc.Message) {
	query := irc.Cut(m.Params[0], 1)
	if query == "u" {
		up := s.svc.o.Now().Sub(s.svc.began)
		days := int(up / (24 * time.Hour))
		up -= time.Duration(days) * 24 * time.Hour
		s.num(irc.RplStatsUptime, fmt.Sprintf("Server Up %d days %d:%02d:%02d", days, int(up.Hours()), int(up.Minutes())%60, int(up.Seconds())%60))
	}
	s.num(irc.RplEndOfStats, query, "End of STATS report")
}

// cmdLinks tells that there is one server.
func (s *session) cmdLinks(*irc.Message) {
	s.num(irc.RplLinks, s.svc.o.Name, s.svc.o.Name, "0 "+s.svc.o.Network)
	s.num(irc.RplEndOfLinks, "*", "End of LINKS list")
}

// cmdHelp lists the commands.
func (s *session) cmdHelp(m *irc.Message) {
	subject := strings.ToUpper(irc.Param(m, 0))
	if _, known := irc.Commands[subject]; subject != "" && !known {
		s.num(irc.ErrHelpNotFound, irc.Word(irc.Cut(subject, 64)), "No help available on this topic")
		return
	}
	if subject == "" {
		subject = "*"
	}
	s.num(irc.RplHelpStart, subject, "Commands of this server:")
	for _, line := range irc.Wrap(slices.Sorted(maps.Keys(irc.Commands)), 300) {
		s.num(irc.RplHelpTxt, subject, line)
	}
	s.num(irc.RplEndOfHelp, subject, "What they do is at modern.ircdocs.horse and ircv3.net")
}
