package chat

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"weir/chat/irc"
)

// Commands that describe the server, besides those in info.go.

// sendISupport sends the supported features.
func (s *session) sendISupport() {
	svc := s.svc
	words := irc.ISupport(irc.Limits{Network: svc.fixed.Network, Rooms: svc.options().MaxRoomsPerUser, History: svc.options().MaxHistory, Monitor: maxMonitor,
		Bans: maxBans, Targets: maxTargets, Upload: svc.options().UploadURL})
	for line := range slices.Chunk(words, 12) { // a line has at most 15 parameters
		s.numeric(irc.RplISupport, append(line[:len(line):len(line)], "are supported by this server")...)
	}
}

func (s *session) cmdVersion(*irc.Message) {
	s.numeric(irc.RplVersion, version, s.svc.fixed.Name, "")
	s.sendISupport()
}

// cmdStats answers STATS u with the uptime; users see no other statistics.
func (s *session) cmdStats(m *irc.Message) {
	query := irc.Cut(m.Params[0], 1)
	if query == "u" {
		up := s.svc.now.Sub(s.svc.startedAt)
		days := int(up / (24 * time.Hour))
		up -= time.Duration(days) * 24 * time.Hour
		s.numeric(irc.RplStatsUptime, fmt.Sprintf("Server Up %d days %d:%02d:%02d", days, int(up.Hours()), int(up.Minutes())%60, int(up.Seconds())%60))
	}
	s.numeric(irc.RplEndOfStats, query, "End of STATS report")
}

// cmdLinks answers LINKS: there is one server.
func (s *session) cmdLinks(*irc.Message) {
	s.numeric(irc.RplLinks, s.svc.fixed.Name, s.svc.fixed.Name, "0 "+s.svc.fixed.Network)
	s.numeric(irc.RplEndOfLinks, "*", "End of LINKS list")
}

// cmdHelp lists the commands.
func (s *session) cmdHelp(m *irc.Message) {
	subject := strings.ToUpper(irc.Param(m, 0))
	if _, known := irc.Commands[subject]; subject != "" && !known {
		s.numeric(irc.ErrHelpNotFound, irc.Word(irc.Cut(subject, 64)), "No help available on this topic")
		return
	}
	if subject == "" {
		subject = "*"
	}
	s.numeric(irc.RplHelpStart, subject, "Commands of this server:")
	for _, line := range irc.Wrap(slices.Sorted(maps.Keys(irc.Commands)), 300) {
		s.numeric(irc.RplHelpTxt, subject, line)
	}
	s.numeric(irc.RplEndOfHelp, subject, "What they do is at modern.ircdocs.horse and ircv3.net")
}
