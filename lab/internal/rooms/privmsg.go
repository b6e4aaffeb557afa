package rooms

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// privmsgLocked sends a member's message to its room. The caller holds the server's lock.
func (m *conn) privmsgLocked(rest string) {
	s := m.server
	name, text, _ := strings.Cut(rest, " :")
	if m.messageCount++; s.Fault == "hangs up" && m.messageCount == 5 {
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
	if s.Fault == "sends to all clients" {
		hearers = nil
		for other := range s.conns {
			hearers = append(hearers, other)
		}
	}
	for _, other := range hearers {
		if other != m || m.echo {
			s.deliverLocked(other, line)
		}
	}
}

// faultInterval is the number of deliveries from one fault to the next.
const faultInterval = 53

// deliverLocked sends a line to one member, with the server's fault if it is due. The caller holds
// the server's lock.
func (s *Server) deliverLocked(to *conn, line string) {
	s.deliveryCount++
	fault := s.Fault
	if s.deliveryCount%faultInterval != 0 {
		fault = ""
	}
	switch fault {
	case "loses":
		return
	case "doubles":
		to.sendLine(line)
	case "changes text":
		line = line[:len(line)-1] + "#"
	case "wrong nick":
		line = ":other" + line[strings.Index(line, "!"):]
	case "wrong room":
		line = strings.Replace(line, " #", " #x", 1)
	}
	if s.Fault == "swaps" {
		to.deliverSwapped(line)
		return
	}
	to.sendLine(line)
}

// deliverSwapped delivers one line in faultInterval after the ten lines that follow it.
func (m *conn) deliverSwapped(line string) {
	m.mu.Lock()
	m.deliveredCount++
	late := ""
	switch m.deliveredCount % faultInterval {
	case 30:
		m.delayedLine, line = line, ""
	case 40:
		late, m.delayedLine = m.delayedLine, ""
	}
	m.mu.Unlock()
	for _, l := range []string{line, late} {
		if l != "" {
			m.sendLine(l)
		}
	}
}

// history answers CHATHISTORY AFTER and LATEST. A msgid is the number of a message in its room,
// from 1.
func (m *conn) history(words []string) {
	s := m.server
	if len(words) < 4 || s.History == 0 {
		m.sendLine("FAIL CHATHISTORY INVALID_PARAMS :what")
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
	m.sendLine(":rooms BATCH +p chathistory " + name)
	for i, line := range page {
		m.sendLine(fmt.Sprintf("@batch=p;msgid=%d;time=2026-01-02T03:04:05.678Z %s", from+i+1, line))
	}
	m.sendLine(":rooms BATCH -p")
}
