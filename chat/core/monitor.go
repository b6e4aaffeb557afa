package core

import (
	"slices"
	"strconv"
	"strings"

	"weir/chat/irc"
)

// maxMonitor limits the monitored nicks of a session.
const maxMonitor = 128

func (s *Session) cmdMonitor(m *irc.Message) {
	targets := strings.FieldsFunc(irc.Param(m, 1), func(r rune) bool { return r == ',' })
	switch strings.ToUpper(m.Params[0]) {
	case "+":
		s.monitorNicks(targets)
	case "-":
		for _, nick := range targets {
			s.unmonitorNick(irc.Fold(nick))
		}
	case "C":
		s.svc.removeMonitors(s)
	case "L":
		s.sendNickList(irc.RplMonList, s.monitored)
		s.numeric(irc.RplEndOfMonList, "End of MONITOR list")
	case "S":
		s.sendMonitorState(s.monitored)
	default:
		s.numeric(irc.ErrUnknownCommand, "MONITOR", "Unknown subcommand")
	}
}

// monitorNicks adds nicks to the session's monitor list, and sends which of them are online.
func (s *Session) monitorNicks(targets []string) {
	for i, nick := range targets {
		key := irc.Fold(nick)
		if !irc.ValidNick(nick) || slices.Contains(s.monitored, key) {
			continue
		}
		if len(s.monitored) >= maxMonitor {
			s.numeric(irc.ErrMonListFull, strconv.Itoa(maxMonitor), strings.Join(targets[i:], ","), "Monitor list is full")
			targets = targets[:i]
			break
		}
		s.monitored = append(s.monitored, key)
		if s.svc.monitors[key] == nil {
			s.svc.monitors[key] = map[*Session]struct{}{}
		}
		s.svc.monitors[key][s] = struct{}{}
	}
	s.sendMonitorState(targets)
}

func (s *Session) unmonitorNick(key string) {
	if i := slices.Index(s.monitored, key); i >= 0 {
		s.monitored = slices.Delete(s.monitored, i, i+1)
		s.svc.removeMonitor(key, s)
	}
}

// removeMonitor removes a nick from a session's monitor list.
func (s *Core) removeMonitor(key string, session *Session) {
	if delete(s.monitors[key], session); len(s.monitors[key]) == 0 {
		delete(s.monitors, key)
	}
}

// removeMonitors clears a session's monitor list.
func (s *Core) removeMonitors(session *Session) {
	for _, key := range session.monitored {
		s.removeMonitor(key, session)
	}
	session.monitored = nil
}

// sendMonitorState sends which of the nicks are online and offline.
func (s *Session) sendMonitorState(nicks []string) {
	var on, off []string
	var online []*user
	for _, nick := range nicks {
		if u := s.svc.findUser(nick); u != nil {
			on, online = append(on, u.source), append(online, u)
		} else {
			off = append(off, nick)
		}
	}
	s.sendNickList(irc.RplMonOnline, on)
	s.sendNickList(irc.RplMonOffline, off)
	s.syncMonitoredMetadata(online...)
}

func (s *Session) sendNickList(code string, words []string) {
	for part := range slices.Chunk(words, 8) {
		s.numeric(code, strings.Join(part, ","))
	}
}

// notifyMonitors notifies the sessions that monitor a nick.
func (s *Core) notifyMonitors(nick, code, what string) {
	for session := range s.monitors[irc.Fold(nick)] {
		if session.user != nil {
			to := session.replyCollector()
			to.numeric(code, what)
			if u := s.findUser(nick); u != nil && code == irc.RplMonOnline {
				to.syncMonitoredMetadata(u)
			}
			session.conn.Send(to.replies)
		}
	}
}
