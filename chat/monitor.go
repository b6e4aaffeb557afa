package chat

import (
	"slices"
	"strconv"
	"strings"

	"weir/chat/irc"
)

// maxMonitor is how many nicks a session may watch.
const maxMonitor = 128

func (s *session) cmdMonitor(m *irc.Message) {
	targets := strings.FieldsFunc(irc.Param(m, 1), func(r rune) bool { return r == ',' })
	switch strings.ToUpper(m.Params[0]) {
	case "+":
		s.watch(targets)
	case "-":
		for _, nick := range targets {
			s.unwatch(irc.Fold(nick))
		}
	case "C":
		s.svc.unmonitor(s)
	case "L":
		s.monitorList(irc.RplMonList, s.monitors)
		s.num(irc.RplEndOfMonList, "End of MONITOR list")
	case "S":
		s.monitorState(s.monitors)
	default:
		s.num(irc.ErrUnknownCommand, "MONITOR", "Unknown subcommand")
	}
}

// watch has the session told when somebody comes or goes.
func (s *session) watch(targets []string) {
	for i, nick := range targets {
		key := irc.Fold(nick)
		if !irc.ValidNick(nick) || slices.Contains(s.monitors, key) {
			continue
		}
		if len(s.monitors) >= maxMonitor {
			s.num(irc.ErrMonListFull, strconv.Itoa(maxMonitor), strings.Join(targets[i:], ","), "Monitor list is full")
			targets = targets[:i]
			break
		}
		s.monitors = append(s.monitors, key)
		if s.svc.monitors[key] == nil {
			s.svc.monitors[key] = map[*session]struct{}{}
		}
		s.svc.monitors[key][s] = struct{}{}
	}
	s.monitorState(targets)
}

func (s *session) unwatch(key string) {
	if i := slices.Index(s.monitors, key); i >= 0 {
		s.monitors = slices.Delete(s.monitors, i, i+1)
		s.svc.forget(key, s)
	}
}

// forget ends a session's watch.
func (s *Service) forget(key string, session *session) {
	if delete(s.monitors[key], session); len(s.monitors[key]) == 0 {
		delete(s.monitors, key)
	}
}

// unmonitor ends all of a session's watches.
func (s *Service) unmonitor(session *session) {
	for _, key := range session.monitors {
		s.forget(key, session)
	}
	session.monitors = nil
}

// monitorState says who of the nicks is there.
func (s *session) monitorState(nicks []string) {
	var on, off []string
	var there []*user
	for _, nick := range nicks {
		if u := s.svc.find(nick); u != nil {
			on, there = append(on, u.source), append(there, u)
		} else {
			off = append(off, nick)
		}
	}
	s.monitorList(irc.RplMonOnline, on)
	s.monitorList(irc.RplMonOffline, off)
	s.monitoredMetadata(there...)
}

func (s *session) monitorList(code string, words []string) {
	for part := range slices.Chunk(words, 8) {
		s.num(code, strings.Join(part, ","))
	}
}

// watchers tells those who watch a nick.
func (s *Service) watchers(nick, code, what string) {
	for session := range s.monitors[irc.Fold(nick)] {
		if session.user != nil {
			to := session.standIn()
			to.num(code, what)
			if u := s.find(nick); u != nil && code == irc.RplMonOnline {
				to.monitoredMetadata(u)
			}
			session.conn.Send(to.out)
		}
	}
}
