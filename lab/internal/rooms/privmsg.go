package rooms

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// privmsg tells a room what one of its members says. The server's lock is held.
func (m *conn) privmsg(rest string) {
	s := m.server
	name, text, _ := strings.Cut(rest, " :")
	if m.said++; s.Fault == "hangs up" && m.said == 5 {
		m.Close()
		return
	}
	if before, _, found := strings.Cut(text, "\x00"); found {
		if text = before; s.Fault == "leaks after NUL" {
			text += "\x00what lay in memory behind it"
		}
	}
	line := ":" + m.mask() + " PRIVMSG " + name + " :" + text
	s.log[name] = append(s.log[name], line)
	hearers := s.rooms[name]
	if s.Fault == "tells everybody" {
		hearers = nil
		for other := range s.conns {
			hearers = append(hearers, other)
		}
	}
	for _, other := range hearers {
		if other != m || m.echo {
			s.deliver(other, line)
		}
	}
}

// every is how many deliveries come between two that go wrong.
const every = 53

// deliver tells one member, if the fault is not to. The server's lock is held.
func (s *Server) deliver(to *conn, line string) {
	s.told++
	fault := s.Fault
	if s.told%every != 0 {
		fault = ""
	}
	switch fault {
	case "loses":
		return
	case "doubles":
		to.tell(line)
	case "changes text":
		line = line[:len(line)-1] + "#"
	case "wrong nick":
		line = ":nobody" + line[strings.Index(line, "!"):]
	case "wrong room":
		line = strings.Replace(line, " #", " #x", 1)
	}
	if s.Fault == "swaps" {
		to.swap(line)
		return
	}
	to.tell(line)
}

// swap holds one line in so many back until ten others have passed it.
func (m *conn) swap(line string) {
	m.mu.Lock()
	m.heard++
	late := ""
	switch m.heard % every {
	case 30:
		m.late, line = line, ""
	case 40:
		late, m.late = m.late, ""
	}
	m.mu.Unlock()
	for _, l := range []string{line, late} {
		if l != "" {
			m.tell(l)
		}
	}
}

// history answers CHATHISTORY AFTER and LATEST. A msgid is a message's place in its room, from 1
// on.
func (m *conn) history(words []string) {
	s := m.server
	if len(words) < 4 || s.History == 0 {
		m.tell("FAIL CHATHISTORY INVALID_PARAMS :what")
		return
	}
	name, all := words[1], s.log[words[1]]
	limit, _ := strconv.Atoi(words[3])
	limit = min(limit, s.History, len(all))
	from := len(all) - limit
	if words[0] == "AFTER" {
		_, id, _ := strings.Cut(words[2], "msgid=")
		from, _ = strconv.Atoi(id)
	}
	page := slices.Clone(all[from:min(len(all), from+limit)])
	m.tell(":rooms BATCH +p chathistory " + name)
	for i, line := range page {
		m.tell(fmt.Sprintf("@batch=p;msgid=%d;time=2026-01-02T03:04:05.678Z %s", from+i+1, line))
	}
	m.tell(":rooms BATCH -p")
}
