package chat

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"weir/chat/internal/lobby"
	"weir/chat/irc"
)

// num appends a numeric reply to what the session will be sent.
func (s *session) num(code string, params ...string) {
	s.out = irc.AppendLine(s.out, s.svc.o.Name, code, append([]string{s.nick()}, params...)...)
}

// say appends a line of the server's.
func (s *session) say(command string, params ...string) {
	s.out = irc.AppendLine(s.out, s.svc.o.Name, command, params...)
}

// fail appends a standard reply.
func (s *session) fail(command, code string, context ...string) {
	s.out = irc.AppendLine(s.out, s.svc.o.Name, "FAIL", append([]string{command, code}, context...)...)
}

// nick is what the session is called in replies.
func (s *session) nick() string {
	switch {
	case s.user != nil:
		return s.user.nick
	case s.reg != nil && s.reg.Nick != "":
		return s.reg.Nick
	}
	return "*"
}

// refusal is what a session is told of a message that is not stored.
func (s *session) refusal(f *feed, p post, why error) []byte {
	text := "Your message was not stored, and nobody saw it: " + publicError(why)
	nick := "*"
	s.svc.mu.Lock()
	name := f.name
	if s.user != nil {
		nick = s.user.nick
	}
	s.svc.mu.Unlock()
	line := irc.AppendLine(nil, s.svc.o.Name, irc.ErrCannotSend, nick, name, text)
	if p.change != nil {
		line = irc.AppendLine(nil, s.svc.o.Name, "FAIL", p.command, "TEMPORARILY_UNAVAILABLE", name,
			"It was not stored, and stays as it is: "+publicError(why))
	}
	if p.label != "" {
		return appendLabeled(nil, p.label, line)
	}
	return line
}

// begin is the start of a command with a label, "" for none.
func (s *session) begin(label string) {
	s.label, s.from, s.batch, s.later = label, len(s.out), "", false
}

// finish is the end of a command: its replies are labeled, see ircv3.net, labeled-response. What it
// brought besides replies follows.
func (s *session) finish() {
	s.labelReplies()
	s.out, s.behind = append(s.out, s.behind...), nil
}

// labelReplies gives the replies of a command its label.
func (s *session) labelReplies() {
	if s.label == "" {
		return
	}
	label := s.label
	s.label = ""
	replies := s.out[s.from:]
	switch lines := countLines(replies); {
	case s.batch != "":
		s.intoBatch()
		s.say("BATCH", "-"+s.batch)
	case lines == 0 && s.later: // deliver sends the reply
	case lines == 0:
		s.out = s.svc.appendAck(s.out, label)
	case lines == 1 || isOneBatch(string(replies)):
		line := string(replies)
		s.out = appendLabeled(s.out[:s.from], label, []byte(line))
	default:
		s.openBatch(label)
		s.intoBatch()
		s.say("BATCH", "-"+s.batch)
	}
}

// isOneBatch says whether lines are a batch and nothing besides, which takes a label as one line
// does.
func isOneBatch(lines string) bool {
	source, rest, is := strings.Cut(lines, " BATCH +")
	if !is || strings.ContainsAny(source, " \r") { // tags, or something before it
		return false
	}
	end := source + " BATCH -" + rest[:strings.IndexAny(rest, " \r")] + "\r\n"
	return strings.Index(rest, end) == len(rest)-len(end)
}

// openBatch puts the begin of a labeled batch before the replies.
func (s *session) openBatch(label string) {
	s.batch = s.svc.batchName()
	replies := string(s.out[s.from:])
	s.out = append(s.out[:s.from], "@label="+label+" :"+s.svc.o.Name+" BATCH +"+s.batch+" labeled-response\r\n"...)
	s.from = len(s.out)
	s.out = append(s.out, replies...)
}

// intoBatch marks the replies as parts of the labeled batch, but for those that are in one of their
// own.
func (s *session) intoBatch() {
	s.out = tagBatch(s.out, s.from, s.batch)
	s.from = len(s.out)
}

// tagBatch marks lines, which begin at from, as parts of a batch, but for those that are in one
// already.
func tagBatch(out []byte, from int, batch string) []byte {
	replies := string(out[from:])
	out = out[:from]
	for line := range strings.Lines(replies) {
		switch {
		case line[0] != '@':
			out = append(append(out, "@batch="+batch+" "...), line...)
		case !hasBatchTag(line):
			out = append(append(out, "@batch="+batch+";"...), line[1:]...)
		default:
			out = append(out, line...)
		}
	}
	return out
}

// batchReplies sends replies in a batch, where the client knows such. The target is "" for none.
func (s *session) batchReplies(kind, target string, reply func()) {
	if !s.has(irc.CapBatch) {
		reply()
		return
	}
	id := s.svc.batchName()
	params := []string{"+" + id, kind}
	if target != "" {
		params = append(params, target)
	}
	s.say("BATCH", params...)
	from := len(s.out)
	reply()
	s.out = tagBatch(s.out, from, id)
	s.say("BATCH", "-"+id)
}

// flush sends the replies so far, before what others may send the session from now on. The label's
// batch stays open. The caller holds the lock.
func (s *session) flush() bool {
	if s.label != "" {
		if s.batch == "" {
			s.openBatch(s.label)
		}
		s.intoBatch()
	}
	ok := s.conn.Send(s.out)
	s.out, s.from = s.out[:0], 0
	return ok
}

// batchName is a name for a batch that no other has while clients remember it.
func (s *Service) batchName() string {
	return strconv.FormatUint(s.batches.Add(1), 36)
}

// news is a line that several sessions are told at once, and not stored.
type news struct {
	tags, body []byte
	by         *session // whose command it is: its replies are where it goes. nil: none
	quiet      bool     // it does not want to hear it
	need       irc.Caps // who lacks it is not told
	views      [irc.Views][]byte
}

// news is a line from a user.
func (s *Service) news(u *user, by *session, command string, params ...string) *news {
	tags := irc.AppendTime(nil, s.o.Now())
	if more := u.tags(); more != "" {
		tags = append(append(tags, ';'), more...)
	}
	return &news{tags: tags, body: irc.AppendLine(nil, u.source, command, params...), by: by}
}

// tell tells a session.
func (n *news) tell(s *session) {
	switch line := n.line(s); {
	case s == n.by && n.quiet, line == nil:
	case s == n.by:
		s.out = append(s.out, line...)
	case !s.conn.Send(line):
		s.svc.tooSlow(s)
	}
}

// line is the line as a session sees it, nil if that lacks what it needs to be told. It is shared.
func (n *news) line(s *session) []byte {
	caps := s.capSet()
	if !caps.Has(n.need) {
		return nil
	}
	v := caps.View()
	if n.views[v] == nil {
		n.views[v] = irc.AppendView(nil, v, "", n.tags, n.body)
	}
	return n.views[v]
}

// to tells a user's sessions.
func (n *news) to(u *user) {
	for _, s := range u.sessions {
		n.tell(s)
	}
}

// toRoom tells everybody in a room who has begun to listen, and who says it.
func (n *news) toRoom(r *room) {
	for _, seat := range r.seats {
		if seat.live || seat.session == n.by {
			n.tell(seat.session)
		}
	}
}

// tooSlow ends a session that does not take what it is sent. It comes back, and the log has what it
// missed.
func (s *Service) tooSlow(session *session) {
	s.counts.tooSlow.Add(1)
	session.conn.Close()
}

func epoch(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }

// countLines counts the lines of replies.
func countLines(replies []byte) int { return bytes.Count(replies, []byte{'\n'}) }

// hasBatchTag says whether a line that begins by tags is part of a batch.
func hasBatchTag(line string) bool {
	tags, _, _ := strings.Cut(line[1:], " ")
	for tag := range strings.SplitSeq(tags, ";") {
		if strings.HasPrefix(tag, "batch=") {
			return true
		}
	}
	return false
}

// passingID is the msgid of a message that no log has.
func (s *Service) passingID() string {
	return "x" + strconv.FormatInt(s.began.UnixMilli(), 36) + "-" + s.batchName()
}

// paceOf is the pace that the session shares with others of its account, or address.
func (s *Service) paceOf(session *session) *pace {
	s.mu.Lock()
	defer s.mu.Unlock()
	if session.login.Account == nil {
		return &s.perAddr[lobby.Network(session.peer.Addr)].pace
	}
	key := irc.Fold(session.login.Name)
	if s.paces[key] == nil {
		s.paces[key] = new(pace)
	}
	return s.paces[key]
}
