package chatload

import (
	"bytes"
	"slices"
	"strings"
)

// handleLine handles a line from the server to member i, without its end.
func (l *loop) handleLine(i int, line []byte, now int64) {
	if at, ok := l.find(line); ok {
		switch {
		case i == len(l.members)-1:
			l.replayed(line, at, now)
		case i < l.Members && l.members[i].state == present:
			l.delivery(i, line, at, now)
		}
		return
	}
	l.command(i, parse(line), now)
}

// delivery checks and counts a message to member i whose text starts at position at.
func (l *loop) delivery(i int, line []byte, at int, now int64) {
	m := &l.members[i]
	number, s, ok := l.verify(i, line, at)
	if !ok {
		l.Failures.Add(kindWrong, 1, "%s received %q", m.nick, line)
		return
	}
	sender := &l.members[s]
	next := &m.expected[s/l.Rooms]
	switch {
	case number == *next:
	case number > *next:
		lost := int64(number - *next)
		l.Failures.Add(kindLost, lost, "%s received message %d of %s after %d", m.nick, number, sender.nick, int64(*next)-1)
		l.outstanding -= lost
	default:
		l.Failures.Add(kindRepeated, 1, "%s received message %d of %s again, or late, after %d", m.nick, number, sender.nick, *next-1)
		return
	}
	*next = number + 1
	if s == i {
		sender.ackedBefore = number + 1
	}
	l.outstanding--
	l.count(sender, s, number, len(line)+2, now)
}

// verify returns which message of which sender a line to member i contains, and whether the line up
// to the number is as it was sent.
func (l *loop) verify(i int, line []byte, at int) (number uint32, s int, ok bool) {
	m := &l.members[i]
	r := &l.rooms[m.room]
	who, number, ok := l.read(line[at:])
	s = int(who)
	if !ok || s >= l.senderCount || int32(s%l.Rooms) != m.room || s == i && !m.echoesMessages || number >= l.members[s].nextNumber {
		return number, s, false
	}
	if line[0] == '@' {
		blank := bytes.IndexByte(line, ' ')
		line = bytes.TrimLeft(line[blank+1:], " ")
		at = len(line) - l.size
	}
	source, nick := at-len(r.prefix), l.members[s].nick
	ok = source > len(nick)+1 && bytes.Equal(line[source:at], r.prefix) && line[0] == ':' && string(line[1:1+len(nick)]) == nick && line[1+len(nick)] == '!'
	return number, s, ok
}

// count counts a correct delivery of the given size.
func (l *loop) count(sender *member, s int, number uint32, bytes int, now int64) {
	l.Done.Add(1)
	in := l.Window.Holds(now)
	switch {
	case in:
		l.Messages++
		l.Bytes += int64(bytes)
	case now < l.Window.From.Load():
		l.WarmMessages++
	}
	if l.open {
		if due := l.schedule.At(s, uint64(number)); l.Window.Holds(due) {
			l.Answered++
			l.Latency.Record(now - due)
		}
		return
	}
	if in {
		l.Latency.Record(now - sender.sentAt)
	}
	if number == sender.nextNumber-1 && sender.outstanding > 0 {
		if sender.outstanding--; sender.outstanding == 0 && !l.IsOver {
			l.readySenders = append(l.readySenders, int32(s))
		}
	}
}

// command handles any other line from the server to member i.
func (l *loop) command(i int, p lineOf, now int64) {
	m := &l.members[i]
	switch command := string(p.command); command {
	case "PING":
		l.write(i, append(append([]byte("PONG :"), p.last()...), "\r\n"...))
	case "PONG":
		l.pong(i, p.last(), now)
	case "CAP":
		l.capability(i, &p)
	case "005":
		l.limits(i, &p)
	case "376", "422":
		l.welcome(i, now)
	case "366":
		if m.state == joining && i < l.Members && strings.EqualFold(string(p.param(1)), l.rooms[m.room].name) {
			l.enter(i)
		}
		l.namesEnd(i, now)
	case "BATCH":
		l.batch(i, &p, now)
	case "PRIVMSG":
		if i == len(l.members)-1 {
			return // a server's own message about the JOIN
		}
		l.Failures.Add(kindForeign, 1, "%s received from %s: %q", m.nick, p.source, p.last())
	default:
		l.complaint(i, command, &p)
	}
}

// complaint handles error replies of the server, and ignores all other lines.
func (l *loop) complaint(i int, command string, p *lineOf) {
	numeric := len(command) == 3 && (command[0] == '4' || command[0] == '5')
	if !numeric && command != "ERROR" && command != "FAIL" || l.onlyLatest(i, command, p) {
		return
	}
	var words []string
	for _, w := range p.params[:p.n] {
		words = append(words, string(w))
	}
	text := command + " " + strings.Join(words, " ")
	if m := &l.members[i]; m.state != present && l.Err == nil || i == len(l.members)-1 {
		l.lose(i, kindRefused, "the server replied "+text)
		return
	}
	l.Failures.Add(kindRefused, 1, "%s: the server replied %s", l.members[i].nick, text)
}

// pong handles the answer to a PING of the generator.
func (l *loop) pong(i int, token []byte, now int64) {
	m := &l.members[i]
	if number, found := bytes.CutPrefix(token, []byte("w")); found && i < l.senderCount {
		m.ackedBefore = max(m.ackedBefore, decimal(number))
	}
	l.handlePong(i, token, now)
}

// decimal parses a small number; invalid text is 0.
func decimal(text []byte) (v uint32) {
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0
		}
		v = 10*v + uint32(c-'0')
	}
	return v
}

// capability continues the capability negotiation of member i.
func (l *loop) capability(i int, p *lineOf) {
	m := &l.members[i]
	switch verb := string(p.param(1)); verb {
	case "LS":
		m.offers = append(append(m.offers, ' '), p.last()...)
		if string(p.param(2)) == "*" && p.n > 3 {
			return
		}
		want := l.wantedCaps(i)
		have := strings.Fields(string(m.offers))
		for j := range have {
			have[j], _, _ = strings.Cut(have[j], "=")
		}
		want = slices.DeleteFunc(want, func(c string) bool { return !slices.Contains(have, c) })
		m.offers = nil
		if len(want) == 0 {
			l.write(i, []byte("CAP END\r\n"))
			return
		}
		l.write(i, []byte("CAP REQ :"+strings.Join(want, " ")+"\r\n"))
	case "ACK", "NAK":
		got := strings.Fields(string(p.last()))
		if verb == "ACK" {
			m.echoesMessages = m.echoesMessages || slices.Contains(got, "echo-message")
			l.granted(i, got)
		}
		l.write(i, []byte("CAP END\r\n"))
	}
}

// granted records the capabilities of member i.
func (l *loop) granted(i int, got []string) {
	switch i {
	case 0:
		l.caps = got
	case len(l.members) - 1:
		l.replay.inPages = slices.Contains(got, "draft/chathistory") && slices.Contains(got, "batch")
	}
}
