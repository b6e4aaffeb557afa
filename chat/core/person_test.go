package core

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ergochat/irc-go/ircmsg"

	"weir/chat/irc"
)

// person is a user with one device. It has a connection now and then.
type person struct {
	w       *world
	name    string // its nick
	account string // "": a guest
	device  string
	level   int             // of capabilities: see capsOf
	link    *link           // nil: offline
	has     map[string]bool // tokens of the lines that its device has received
	own     []*saidLine     // lines that it has seen of itself, with an id
	next    int             // number of its next command
	invited bool            // it was invited once
}

// saidLine is a stored line of a person.
type saidLine struct{ room, msgid string }

// capsOf has the capabilities of each level.
var capsOf = []string{
	"",
	"message-tags server-time account-tag",
	"message-tags server-time batch echo-message labeled-response extended-join draft/message-redaction multi-prefix",
	"message-tags server-time batch echo-message labeled-response draft/chathistory draft/event-playback draft/read-marker draft/message-redaction draft/channel-rename draft/metadata-2 standard-replies",
}

// The levels that add something.
const (
	labels      = 2 // echoes and labels
	chathistory = 3 // it requests histories, and the server replays none
)

// command is a command that has not been answered.
type command struct {
	n                 int
	text              string
	kind, room, token string
	property, value   string // of a change of a room
	key               string // of a JOIN
	answers           int    // labeled answers
	refused           bool   // a refusal was among the answers
	silenced          bool   // its sender may not speak
	echoed            bool
}

// link is one connection of a person, and what was sent on it.
type link struct {
	*conn
	p         *person
	online    bool
	quitting  bool
	flight    []string // lines that the client has not read
	commands  []*command
	rooms     map[string]*place // that it is in, by folded name
	left      map[string]int    // event at which it left a room
	last      map[string]int64  // by log: offset of the last live line
	answered  map[string]int64  // by log: greatest offset in an answer to LATEST
	sent      map[string]bool   // tokens of the lines that it was sent
	batches   map[string]string // types of open batches
	wasFull   bool              // its queue was full once
	hasGap    bool              // the core has reported that it did not send all
	confirmed int               // number of the last answered command
}

// place is a room that a connection is in.
type place struct {
	since   int  // the event of the JOIN
	live    bool // it has caught up
	history bool // it has received a history since
	fresh   bool // it has joined, and received no message since
}

// connect connects a person that is offline.
func (p *person) connect() {
	c := p.w.chat.connect(Peer{})
	p.link = &link{conn: c, p: p, rooms: map[string]*place{}, left: map[string]int{}, last: map[string]int64{}, answered: map[string]int64{},
		sent: map[string]bool{}, batches: map[string]string{}}
	p.w.links = append(p.w.links, p.link)
	var lines []string
	if caps := capsOf[p.level]; caps != "" {
		lines = append(lines, "CAP REQ :"+caps, "CAP END")
	}
	if p.account != "" {
		lines = append(lines, "PASS "+p.account+"@"+p.device+":"+worldPassword)
	}
	p.link.send(append(lines, "NICK "+p.name, "USER "+p.name+" 0 * :"+p.name)...)
	p.w.trace("%s connects", p.id())
}

func (p *person) id() string { return p.name + "@" + p.device }

func (l *link) send(lines ...string) {
	if !l.ended {
		l.in = append(l.in, strings.Join(lines, "\r\n")+"\r\n"...)
	}
}

// run sends a command, and a PING whose answer says that the command has been answered.
func (l *link) run(c *command) {
	l.p.next++
	c.n = l.p.next
	id := strconv.Itoa(c.n)
	if c.kind == "PRIVMSG" {
		c.silenced = l.p.w.isSilenced(l.p, c.room)
	}
	l.p.w.trace("%s sends %s (%d)", l.p.id(), l.p.w.mask(c.text), c.n)
	if l.p.level >= labels {
		l.send("@label="+id+" "+c.text, "PING "+id)
	} else {
		l.send(c.text, "PING "+id)
	}
	l.commands = append(l.commands, c)
}

// commandOf returns the unanswered command with a token, or nil.
func (p *person) commandOf(token string) *command {
	for _, l := range p.w.links {
		for _, c := range l.commands {
			if l.p == p && c.token == token {
				return c
			}
		}
	}
	return nil
}

// read reads all lines that were sent, unless the client has hung up: then they are lost.
func (l *link) read() {
	if l.hungUp {
		return
	}
	for _, line := range l.flight {
		if token := tokenOf(line); token != "" {
			l.p.has[token] = true
		}
		if text, is := strings.CutPrefix(line, "PING :"); is {
			l.send("PONG :" + text)
		}
	}
	l.flight, l.unacked, l.full = nil, false, false
}

// handle looks at a line that the core has sent, whether the client receives it or not.
func (l *link) handle(line string) {
	l.p.w.trace("%s <- %s", l.p.id(), l.p.w.mask(line))
	l.flight = append(l.flight, line)
	m, err := ircmsg.ParseLine(line)
	if err != nil {
		l.fail("got %q, want a valid line: %v", line, err)
		return
	}
	l.checkLabel(&m)
	l.checkRefusal(&m)
	nick, _, _ := strings.Cut(m.Source, "!")
	own := irc.Fold(nick) == l.p.name && strings.Contains(m.Source, "!")
	switch m.Command {
	case "NOTICE":
		l.hasGap = l.hasGap || strings.Contains(line, " that you missed could not be read: ")
	case "221":
		l.online = true
	case "433", "465", "464":
		l.hungUp = true // and tries again later
	case "ERROR":
		if l.quitting {
			l.read()
		}
	case "PONG":
		l.finish(m.Params[1])
	case "BATCH":
		l.handleBatch(&m)
	case "JOIN":
		l.handleJoin(m.Params[0], nick, own)
	case "PART":
		l.leave(m.Params[0], own)
	case "KICK":
		l.leave(m.Params[0], irc.Fold(m.Params[1]) == l.p.name)
	case "RENAME":
		l.handleRename(m.Params[0], m.Params[1])
	case "353":
		l.handleNames(&m)
	case "366":
		if at := l.rooms[irc.Fold(m.Params[1])]; at != nil {
			at.live = true
		}
	case "INVITE":
		l.p.invited = l.p.invited || irc.Fold(m.Params[0]) == l.p.name
	case "MODE", "TOPIC":
		if irc.IsRoom(m.Params[0]) {
			l.p.w.observe(&m)
		}
		l.handleStored(&m, own)
	case "PRIVMSG", "REDACT":
		l.handleStored(&m, own)
	}
}

func (l *link) fail(format string, args ...any) {
	l.p.w.failf("%s: %s", l.p.id(), fmt.Sprintf(format, args...))
}

func (l *link) handleBatch(m *irc.Message) {
	if id, opens := strings.CutPrefix(m.Params[0], "+"); opens {
		l.batches[id] = m.Params[1]
	} else {
		delete(l.batches, m.Params[0][1:])
	}
}

func (l *link) handleJoin(room, nick string, own bool) {
	key := irc.Fold(room)
	if own {
		l.rooms[key] = &place{since: l.p.w.event(), fresh: true}
		return
	}
	if at := l.rooms[key]; at != nil && at.live {
		l.p.w.observeJoin(room, irc.Fold(nick))
	}
}

// leave handles that a user leaves a room. A client that leaves has received what it was sent: the
// server stores its read marker then.
func (l *link) leave(room string, own bool) {
	key := irc.Fold(room)
	if !own {
		return
	}
	if at := l.rooms[key]; at != nil && !at.live {
		l.wasFull = true // its marker stays where it was
	}
	delete(l.rooms, key)
	l.left[key] = l.p.w.event()
	for _, line := range l.flight {
		if token := tokenOf(line); token != "" {
			l.p.has[token] = true
		}
	}
}

func (l *link) handleRename(old, name string) {
	if at := l.rooms[irc.Fold(old)]; at != nil {
		delete(l.rooms, irc.Fold(old))
		l.left[irc.Fold(old)] = l.p.w.event()
		l.rooms[irc.Fold(name)] = at
	}
}

// handleNames learns the ranks of guests.
func (l *link) handleNames(m *irc.Message) {
	for word := range strings.FieldsSeq(m.Params[3]) {
		nick := strings.TrimLeft(word, irc.RankPrefixes)
		for i, rank := range irc.RoomRanks {
			if strings.IndexByte(word, irc.RankPrefixes[i]) >= 0 {
				l.p.w.observe(&irc.Message{Command: "MODE", Params: []string{m.Params[2], "+" + string(rank), nick}})
			}
		}
	}
}

// checkLabel counts labeled answers to the command that is next to be answered.
func (l *link) checkLabel(m *irc.Message) {
	_, label := m.GetTag("label")
	if label == "" {
		return
	}
	if len(l.commands) == 0 || strconv.Itoa(l.commands[0].n) != label {
		l.fail("got an answer to command %s, want answers in the order of the commands", label)
		return
	}
	if m.Command != irc.RplAway { // comes besides the echo
		l.commands[0].answers++
	}
}

// refusals are the replies that refuse a command.
var refusals = []string{irc.ErrNoSuchNick, irc.ErrNoSuchChannel, irc.ErrCannotSend, irc.ErrTooManyChannels, irc.ErrNotOnChannel, irc.ErrUserNotIn, irc.ErrChanOpNeeded,
	irc.ErrBannedFromChan, irc.ErrInviteOnly, irc.ErrBadChannelKey, irc.ErrChannelIsFull, irc.ErrLinkChannel, "FAIL"}

func (l *link) checkRefusal(m *irc.Message) {
	if len(l.commands) > 0 && slices.Contains(refusals, m.Command) {
		l.commands[0].refused = true
	}
}

// handleStored handles a line that may be stored in a log.
func (l *link) handleStored(m *irc.Message, own bool) {
	token := tokenOf(m.Params[len(m.Params)-1])
	e := l.p.w.model.entries[token]
	switch {
	case token == "" || e == nil && !irc.IsRoom(m.Params[0]): // of a guest, and not stored
		return
	case m.Command == "REDACT" && (e == nil || e.at == 0): // refused, and its text is gone
		return
	}
	if e == nil || e.at == 0 {
		l.fail("got %s, which is not stored: want it after it was stored", token)
		return
	}
	if _, id := m.GetTag("msgid"); own && id != "" && m.Command == "PRIVMSG" {
		l.p.own = append(l.p.own, &saidLine{m.Params[0], id})
	}
	if len(l.commands) > 0 && l.commands[0].token == token {
		l.commands[0].echoed = true
	}
	l.sent[token] = true
	if own && irc.IsRoom(m.Params[0]) && l.rooms[irc.Fold(m.Params[0])] == nil {
		l.p.has[token] = true
		return // the echo of a message from outside the room
	}
	_, batch := m.GetTag("batch")
	inHistory := l.p.level >= chathistory && l.batches[batch] == "chathistory"
	mayRead := l.p.account == worldOperator || l.p.w.isIn(l.p, e.room) // under another name
	if !inHistory || !mayRead {
		l.checkPlace(m.Params[0], e)
	}
	l.checkOrder(m.Params[0], e, inHistory)
}

// checkPlace checks that the client is in the room of a line, or was when the line was stored.
func (l *link) checkPlace(target string, e *entry) {
	key := irc.Fold(target)
	if !irc.IsRoom(target) || l.rooms[key] != nil {
		return
	}
	if at, was := l.left[key]; !was || e.at > at {
		l.fail("got %s of %s, which it is not in: want no line of it", e.token, target)
	}
	l.p.has[e.token] = true // its read marker was stored when it left
}

// checkOrder checks that lines of a log arrive in their order, each once on a connection. A history
// may repeat lines that were sent before it, and no line may be sent after it again.
func (l *link) checkOrder(target string, e *entry, inHistory bool) {
	id := e.room.id
	if inHistory {
		l.answered[id] = max(l.answered[id], e.offset+1)
		return
	}
	at := l.rooms[irc.Fold(target)]
	if at != nil && at.fresh {
		at.fresh = false
		if l.p.level < chathistory && (l.p.account == "" || l.wasFull) { // a replay repeats lines
			delete(l.last, id)
		}
	}
	last, is := l.last[id]
	switch {
	case is && e.offset <= last:
		l.fail("got %s at %d behind the line at %d, want the order of the log, each line once", e.token, e.offset, last)
	case e.offset < l.answered[id] && (at == nil || at.live): // a replay may repeat a history
		l.fail("got %s, which a history had before", e.token)
	}
	l.last[id] = e.offset
}

// finish handles the answer to the PING behind a command.
func (l *link) finish(id string) {
	if len(l.commands) == 0 || strconv.Itoa(l.commands[0].n) != id {
		l.fail("got the answer to PING %s, want answers in the order of the commands", id)
		return
	}
	c := l.commands[0]
	l.commands = l.commands[1:]
	l.confirmed = c.n
	if l.p.level >= labels && c.answers != 1 {
		l.fail("got %d labeled answers to %q, want 1", c.answers, c.text)
	}
	l.checkOutcome(c)
}

// checkOutcome checks that a command had its effect, or was refused.
func (l *link) checkOutcome(c *command) {
	e := l.p.w.model.entries[c.token]
	isStored := e != nil && e.at > 0
	switch c.kind {
	case "PRIVMSG", "TOPIC":
		if isStored == c.refused {
			l.fail("the command %q was answered: got it refused %v and stored %v", c.text, c.refused, isStored)
		}
		// after a PART and a JOIN, a history has the message, or retention has removed it
		at := l.rooms[irc.Fold(c.room)]
		if isStored && l.p.level >= labels && !c.echoed && at != nil && at.live && at.since < e.at {
			l.fail("the command %q was answered: got no echo, want one", c.text)
		}
		// perhaps the room has no member
		if c.kind == "TOPIC" && isStored && l.p.w.model.topicAt[e.room.id] < e.at {
			l.p.w.forgetProperties([]string{c.property})
		}
	case "JOIN":
		l.p.w.forgetProperties([]string{c.property}) // of an empty room
		key := irc.Fold(c.room)
		// another device may join and leave
		alone := l.p.account == "" || l.p.account == worldOperator
		if alone && !c.refused && l.rooms[key] == nil && l.left[key] == 0 {

			l.fail("the command %q was answered: got neither a JOIN nor a refusal", c.text)
		}
	case "MODE":
		// the sender is no member, and perhaps there is none
		if w := l.p.w; !c.refused && !w.model.isShown(w.idOf(c.room), c.property, c.value) {
			l.p.w.forgetProperties([]string{c.property})
		}
	case "CHATHISTORY":
		if at := l.rooms[irc.Fold(c.room)]; at != nil && !c.refused {
			at.history = true
		}
	}
}
