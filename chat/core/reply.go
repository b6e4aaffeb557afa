package core

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"time"

	"weir/chat/internal/lobby"
	"weir/chat/irc"
)

// numeric appends a numeric reply to the session's replies.
func (s *Session) numeric(code string, params ...string) {
	s.replies = irc.AppendLine(s.replies, s.svc.fixed.Name, code, append([]string{s.nick()}, params...)...)
}

// reply appends a line whose source is the server.
func (s *Session) reply(command string, params ...string) {
	s.replies = irc.AppendLine(s.replies, s.svc.fixed.Name, command, params...)
}

// fail appends a standard reply FAIL.
func (s *Session) fail(command, code string, context ...string) {
	s.replies = irc.AppendLine(s.replies, s.svc.fixed.Name, "FAIL", append([]string{command, code}, context...)...)
}

// nick returns the nick by which replies address the session.
func (s *Session) nick() string {
	switch {
	case s.user != nil:
		return s.user.nick
	case s.registration != nil && s.registration.Nick != "":
		return s.registration.Nick
	}
	return "*"
}

// notStoredReply returns the reply to a message that was not stored.
func (s *Session) notStoredReply(f *conversation, p post, reason error) []byte {
	text := "Your message was neither stored nor delivered: " + publicError(reason)
	nick := "*"
	if s.user != nil {
		nick = s.user.nick
	}
	line := irc.AppendLine(nil, s.svc.fixed.Name, irc.ErrCannotSend, nick, f.name, text)
	if p.change != nil {
		line = irc.AppendLine(nil, s.svc.fixed.Name, "FAIL", p.command, "TEMPORARILY_UNAVAILABLE", f.name,
			"It was not stored and has not changed: "+publicError(reason))
	}
	if p.label != "" {
		return appendLabeled(nil, p.label, line)
	}
	return line
}

// beginCommand starts a command with a label, "" for none.
func (s *Session) beginCommand(label string) {
	s.label, s.replyStart, s.replyBatch, s.deferredReply = label, len(s.replies), "", false
}

// finishCommand ends a command: it adds the label to the replies
// (https://ircv3.net/specs/extensions/labeled-response) and appends the lines that are not replies.
func (s *Session) finishCommand() {
	s.labelReplies()
	s.replies, s.afterReplies = append(s.replies, s.afterReplies...), nil
}

// labelReplies adds the command's label to its replies.
func (s *Session) labelReplies() {
	if s.label == "" {
		return
	}
	label := s.label
	s.label = ""
	replies := s.replies[s.replyStart:]
	switch lines := countLines(replies); {
	case s.replyBatch != "":
		s.addToReplyBatch()
		s.reply("BATCH", "-"+s.replyBatch)
	case s.deferredReply: // deliver sends the labeled reply; these have no label, such as RPL_AWAY
	case lines == 0:
		s.replies = s.svc.appendAck(s.replies, label)
	case lines == 1 || isOneBatch(string(replies)):
		line := string(replies)
		s.replies = appendLabeled(s.replies[:s.replyStart], label, []byte(line))
	default:
		s.openReplyBatch(label)
		s.addToReplyBatch()
		s.reply("BATCH", "-"+s.replyBatch)
	}
}

// isOneBatch reports whether lines are exactly one batch, which takes a label like a single line.
func isOneBatch(lines string) bool {
	source, rest, is := strings.Cut(lines, " BATCH +")
	if tags, behind, _ := strings.Cut(source, " "); strings.HasPrefix(tags, "@") {
		source = behind
	}
	if !is || strings.ContainsAny(source, " \r") { // a line before the batch
		return false
	}
	end := source + " BATCH -" + rest[:strings.IndexAny(rest, " \r")] + "\r\n"
	return strings.Index(rest, end) == len(rest)-len(end)
}

// openReplyBatch inserts the start of a labeled batch before the replies.
func (s *Session) openReplyBatch(label string) {
	s.replyBatch = s.svc.newBatchID()
	replies := string(s.replies[s.replyStart:])
	s.replies = append(s.replies[:s.replyStart], "@label="+label+" :"+s.svc.fixed.Name+" BATCH +"+s.replyBatch+" labeled-response\r\n"...)
	s.replyStart = len(s.replies)
	s.replies = append(s.replies, replies...)
}

// addToReplyBatch marks the replies as parts of the labeled batch, except those in a batch of their
// own.
func (s *Session) addToReplyBatch() {
	s.replies = tagBatch(s.replies, s.replyStart, s.replyBatch)
	s.replyStart = len(s.replies)
}

// tagBatch marks the lines from an offset on as parts of a batch, except those that are in one
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

// batchReplies sends replies in a batch if the client supports batches. Target is "" for none.
func (s *Session) batchReplies(kind, target string, reply func()) {
	if !s.has(irc.CapBatch) {
		reply()
		return
	}
	id := s.svc.newBatchID()
	params := []string{"+" + id, kind}
	if target != "" {
		params = append(params, target)
	}
	s.reply("BATCH", params...)
	from := len(s.replies)
	reply()
	s.replies = tagBatch(s.replies, from, id)
	s.reply("BATCH", "-"+id)
}

// flushReplies sends the replies so far, so that they precede whatever other goroutines send
// the session later. The labeled batch stays open. It reports whether the connection took them.
func (s *Session) flushReplies() bool {
	if s.label != "" {
		if s.replyBatch == "" {
			s.openReplyBatch(s.label)
		}
		s.addToReplyBatch()
	}
	ok := s.conn.Send(s.replies)
	s.replies, s.replyStart = s.replies[:0], 0
	return ok
}

// newBatchID returns an id for a batch that is unique while the service runs.
func (s *Core) newBatchID() string {
	s.lastBatchID++
	return strconv.FormatUint(s.lastBatchID, 36)
}

// notification is a line that is sent to several sessions at once and not stored.
type notification struct {
	tags, body []byte
	// session whose command caused it, which receives it among its replies; nil: none
	requester     *Session
	skipRequester bool               // the requester does not receive it
	requiredCaps  irc.Caps           // capabilities that a receiver must have
	multiline     *unstoredMultiline // replaces body; nil: body is all
	views         [irc.Views][]byte
}

// userNotification returns a notification whose source is a user.
func (s *Core) userNotification(u *user, by *Session, command string, params ...string) *notification {
	tags := irc.AppendTime(nil, s.now)
	if more := u.tags(); more != "" {
		tags = append(append(tags, ';'), more...)
	}
	return &notification{tags: tags, body: irc.AppendLine(nil, u.source, command, params...), requester: by}
}

// sendTo sends the line to a session.
func (n *notification) sendTo(s *Session) {
	switch line := n.line(s); {
	case s == n.requester && n.skipRequester, line == nil:
	case s == n.requester:
		s.replies = append(s.replies, line...)
	case !s.conn.Send(line):
		s.svc.closeSlow(s)
	}
}

// line returns the line as a session sees it, nil if the session lacks a required capability. The
// result is shared.
func (n *notification) line(s *Session) []byte {
	caps := s.caps
	if !caps.Has(n.requiredCaps) {
		return nil
	}
	v := caps.View()
	switch {
	case n.views[v] != nil:
	case n.multiline != nil:
		n.views[v] = n.multiline.append(nil, v, n.tags)
	default:
		n.views[v] = irc.AppendView(nil, v, "", n.tags, n.body)
	}
	return n.views[v]
}

// sendToUser sends the line to all sessions of a user.
func (n *notification) sendToUser(u *user) {
	for _, s := range u.sessions {
		n.sendTo(s)
	}
}

// sendToRoom sends the line to all live subscribers of a room, and to the requester. The requester
// is charged for them.
func (n *notification) sendToRoom(r *room) {
	if n.requester != nil {
		n.requester.chargeItems(len(r.subscriptions))
	}
	for _, sub := range r.subscriptions {
		if sub.state == live || sub.session == n.requester {
			n.sendTo(sub.session)
		}
	}
}

// closeSlow disconnects a client that does not read what it is sent. It may reconnect; the log has
// what it missed.
func (s *Core) closeSlow(session *Session) {
	s.counts.TooSlow++
	session.conn.Close()
}

func formatEpoch(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }

// countLines returns the number of lines in replies.
func countLines(replies []byte) int { return bytes.Count(replies, []byte{'\n'}) }

// hasBatchTag reports whether a line that begins with tags is part of a batch.
func hasBatchTag(line string) bool {
	tags, _, _ := strings.Cut(line[1:], " ")
	for tag := range strings.SplitSeq(tags, ";") {
		if strings.HasPrefix(tag, "batch=") {
			return true
		}
	}
	return false
}

// newUnstoredID returns a msgid for a message that is not stored.
func (s *Core) newUnstoredID() string {
	return "x" + strconv.FormatInt(s.startedAt.UnixMilli(), 36) + "-" + s.newBatchID()
}

// paceOf returns the rate limit of commands that the session shares with others of its account or
// network.
func (s *Core) paceOf(session *Session) *pace {
	if session.login.Account == nil {
		return &s.networks[lobby.Network(session.peer.Addr)].pace
	}
	key := irc.Fold(session.login.Name)
	if s.accountPaces[key] == nil {
		s.accountPaces[key] = new(pace)
	}
	return s.accountPaces[key]
}

// handlers run the commands that checkCommand admits. They never block.
var handlers map[string]func(*Session, *irc.Message)

// Set in init, because some handlers refer to the map.
func init() {
	handlers = map[string]func(*Session, *irc.Message){
		"CAP": (*Session).cmdCap, "NICK": (*Session).cmdNick, "USER": (*Session).cmdUser, "PASS": (*Session).cmdPass, "AUTHENTICATE": (*Session).cmdAuthenticate,
		"PING": (*Session).cmdPing, "PONG": func(*Session, *irc.Message) {}, "QUIT": (*Session).cmdQuit, "REGISTER": (*Session).cmdRegister, "VERIFY": (*Session).cmdVerify,
		"AWAY": (*Session).cmdAway, "SETNAME": (*Session).cmdSetname, "MONITOR": (*Session).cmdMonitor, "ISON": (*Session).cmdIson, "USERHOST": (*Session).cmdUserhost,
		"JOIN": (*Session).cmdJoin, "PART": (*Session).cmdPart, "NAMES": (*Session).cmdNames, "LIST": (*Session).cmdList, "TOPIC": (*Session).cmdTopic,
		"INVITE": (*Session).cmdInvite, "KICK": (*Session).cmdKick, "MODE": (*Session).cmdMode, "RENAME": (*Session).cmdRename,
		"PRIVMSG": (*Session).cmdMessage, "NOTICE": (*Session).cmdMessage, "TAGMSG": (*Session).cmdMessage, "BATCH": (*Session).cmdBatch, "REDACT": (*Session).cmdRedact,
		"CHATHISTORY": (*Session).cmdHistory, "SEARCH": (*Session).cmdSearch, "FILEHOST": (*Session).cmdFilehost, "UPLOAD": (*Session).cmdUpload,
		"MARKREAD": (*Session).cmdMarkRead, "METADATA": (*Session).cmdMetadata,
		"WHO": (*Session).cmdWho, "WHOIS": (*Session).cmdWhois, "WHOWAS": (*Session).cmdWhowas,
		"LUSERS": (*Session).cmdLusers, "MOTD": (*Session).cmdMOTD, "VERSION": (*Session).cmdVersion, "TIME": (*Session).cmdTime, "ADMIN": (*Session).cmdAdmin, "INFO": (*Session).cmdInfo,
		"STATS": (*Session).cmdStats, "LINKS": (*Session).cmdLinks, "HELP": (*Session).cmdHelp,
		"OPER": (*Session).cmdOper, "KILL": (*Session).cmdKill, "KLINE": (*Session).cmdKline, "UNKLINE": (*Session).cmdUnkline,
	}
}

// runCommand runs a command.
func (s *Session) runCommand(m *irc.Message) {
	s.svc.counts.Commands++
	label := ""
	if s.has(irc.CapLabeledResponse) {
		if _, l := m.GetTag("label"); l != "" && len(l) <= 64 {
			label = irc.EscapeTag(l)
		}
	}
	s.beginCommand(label)
	if s.checkCommand(m) {
		handlers[m.Command](s, m)
	}
	if len(s.work) > 0 {
		s.runWork() // finishes the command
	} else {
		s.finishCommand()
	}
	if (s.deferredReply || irc.Commands[m.Command].Ordered) && s.task == nil {
		s.sendInOrder()
	}
}

// sendInOrder sends the replies so far. The output of a turn is written after the call of the core.
// By then other goroutines may have written the delivery of a message that was enqueued, or what
// another client has caused: a PART must not come before a list with its user.
func (s *Session) sendInOrder() {
	if len(s.replies) == 0 {
		return
	}
	if !s.conn.Send(s.replies) {
		s.svc.closeSlow(s)
	}
	s.replies, s.replyStart = s.replies[:0], 0
}

// checkCommand reports whether a command can be run. If not, it replies with the reason.
func (s *Session) checkCommand(m *irc.Message) bool {
	c, known := irc.Commands[m.Command]
	switch {
	case !known:
		s.numeric(irc.ErrUnknownCommand, irc.Word(irc.Cut(m.Command, 32)), "Unknown command")
	case s.user == nil && c.When == irc.Registered:
		s.numeric(irc.ErrNotRegistered, "You have not registered")
	case len(m.Params) < c.Min:
		s.numeric(irc.ErrNeedMoreParams, m.Command, "Not enough parameters")
	default:
		return true
	}
	return false
}

// replyParseError replies to a line that cannot be parsed.
func (s *Session) replyParseError(err error) {
	s.beginCommand("")
	switch {
	case errors.Is(err, irc.ErrUTF8):
		s.fail("*", "INVALID_UTF8", "Lines must be UTF-8")
	case errors.Is(err, irc.ErrTooLong):
		s.numeric(irc.ErrInputTooLong, "Input line was too long")
	default:
		s.fail("*", "INVALID_MESSAGE", "The line contains a forbidden byte, or no command")
	}
}

func (s *Session) cmdPing(m *irc.Message) { s.reply("PONG", s.svc.fixed.Name, m.Params[0]) }

func (s *Session) cmdQuit(m *irc.Message) {
	words := "Quit"
	if text := irc.Param(m, 0); text != "" {
		words = "Quit: " + irc.Cut(text, irc.MaxTopic)
	}
	s.replies = append(s.replies, "ERROR :Closing link ("+words+")\r\n"...)
	s.endErr = &quitError{words}
}
