package client

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/ergochat/irc-go/ircmsg"
)

// MessageKind is the kind of a message.
type MessageKind int

// Kinds of messages.
const (
	TextMessage   MessageKind = iota
	ActionMessage             // CTCP ACTION: "/me waves"
	NoticeMessage             // NOTICE
	// a member joined, left or changed something; Text is a sentence without its subject
	EventMessage
)

// Message is an entry of a conversation. Its texts are unsanitized: clean them before display.
type Message struct {
	Seq      uint64 // unique within this client; not an order
	ID       string // msgid, "" if unknown
	Time     time.Time
	From     string // nick
	Kind     MessageKind
	Text     string
	Own      bool   // sent by this user
	Mention  bool   // mentions this user
	Redacted bool   // the text was deleted
	ReplyTo  string // msgid of the message that it replies to, "" if none

	nonce string // folded nick and nonce of the sender's client
}

// nonceTag is the client-only tag by which a client recognizes its own messages.
const nonceTag = "+weir/n"

const timeFormat = "2006-01-02T15:04:05.000Z"

func formatTime(t time.Time) string { return t.UTC().Format(timeFormat) }

// parseMessage makes a message of PRIVMSG, NOTICE or TOPIC. ok is false if there is nothing to
// show.
func (c *Client) parseMessage(m *ircmsg.Message, now time.Time) (msg Message, ok bool) {
	msg = Message{From: nickOf(m), Time: now, Text: lastParam(m), Seq: c.nextSeq()}
	_, msg.ID = m.GetTag("msgid")
	if has, value := m.GetTag("time"); has {
		if t, err := time.Parse(time.RFC3339Nano, value); err == nil {
			msg.Time = t
		}
	}
	if has, nonce := m.GetTag(nonceTag); has && nonce != "" {
		msg.nonce = c.fold(msg.From) + " " + nonce
	}
	msg.Redacted, _ = m.GetTag("weir/redacted")
	_, msg.ReplyTo = m.GetTag("+draft/reply")
	msg.Own = c.IsOwn(msg.From)
	switch m.Command {
	case "TOPIC":
		msg.Kind, msg.Text = EventMessage, "changed the topic: "+msg.Text
	case "NOTICE":
		msg.Kind = NoticeMessage
	case "PRIVMSG":
		if ctcp, is := strings.CutPrefix(msg.Text, "\x01"); is {
			text, action := strings.CutPrefix(strings.TrimSuffix(ctcp, "\x01"), "ACTION ")
			msg.Kind, msg.Text = ActionMessage, text
			ok = !action
		}
	default:
		return msg, false
	}
	msg.Mention = !msg.Own && msg.Kind != EventMessage && mentions(msg.Text, c.nick)
	return msg, !ok && len(m.Params) >= 2
}

// nextSeq returns a number that is unique among the messages of this client.
func (c *Client) nextSeq() uint64 {
	c.lastSeq++
	return uint64(c.lastSeq)
}

func nickOf(m *ircmsg.Message) string {
	nick, _, _ := strings.Cut(m.Source, "!")
	return nick
}

// mentions reports whether text contains nick as a separate word.
func mentions(text, nick string) bool {
	if nick == "" {
		return false
	}
	text, nick = foldASCII(text), foldASCII(nick)
	for from := 0; ; {
		at := strings.Index(text[from:], nick)
		if at < 0 {
			return false
		}
		at += from
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		behind, _ := utf8.DecodeRuneInString(text[at+len(nick):])
		if !isNickRune(before) && !isNickRune(behind) {
			return true
		}
		from = at + len(nick)
	}
}

func isNickRune(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-[]{}\\|`^", r))
}

// onMessage handles a live PRIVMSG or NOTICE.
func (c *Client) onMessage(m *ircmsg.Message, now time.Time) {
	// a message from the server itself
	if !strings.Contains(m.Source, "!") || c.state != Online || len(m.Params) < 2 {
		if m.Command == "NOTICE" {
			c.emit(Event{Kind: ServerText, Text: lastParam(m)})
		}
		return
	}
	msg, ok := c.parseMessage(m, now)
	if !ok {
		return
	}
	c.receive(c.conversationFor(m.Params[0], msg.From, msg.Own), msg)
}

// conversationFor returns the conversation of a message to target.
func (c *Client) conversationFor(target, from string, own bool) *Conversation {
	if room := strings.TrimLeft(target, ranks); c.isRoom(room) {
		target = room
	}
	if !c.isRoom(target) && !own {
		target = from
	}
	conv := c.lookup(target)
	if conv == nil && !c.isRoom(target) {
		if conv = c.conversation(target); conv != nil {
			c.emit(Event{Kind: Opened, Conversation: conv})
			c.catchUp(conv)
		}
	}
	return conv
}

// receive adds a live message. While a gap is being filled, the message is held.
func (c *Client) receive(v *Conversation, msg Message) {
	switch {
	case v == nil:
	case v.historyRequest == afterRequest || v.historyRequest == latestRequest:
		if len(v.held) < maxMessages {
			v.held = append(v.held, msg)
		}
	default:
		c.addMessage(v, msg)
	}
}

// addMessage appends a message, unless it is already stored.
func (c *Client) addMessage(v *Conversation, msg Message) {
	if !v.remember(&msg) {
		return
	}
	if c.wasSentBefore(v, &msg) {
		msg.Own, msg.Mention = true, false
	}
	if msg.Own {
		v.acknowledge(&msg)
	}
	if msg.ID != "" {
		v.lastID = msg.ID
		if v.firstID == "" {
			v.firstID = msg.ID
		}
	}
	v.Messages = append(v.Messages, msg)
	if len(v.Messages) > maxMessages {
		v.dropOldest()
	}
	at := &v.Messages[len(v.Messages)-1]
	v.countUnread(at)
	c.emit(Event{Kind: NewMessage, Conversation: v, Message: at})
}

// wasSentBefore reports whether a message is one that the client has sent on an earlier connection,
// perhaps under another nick: a guest does not get its nick back while the server has not noticed
// that the connection broke.
func (c *Client) wasSentBefore(v *Conversation, msg *Message) bool {
	return slices.ContainsFunc(v.unsent, func(u unsent) bool {
		return u.state == uncertain && msg.nonce == c.fold(u.nick)+" "+u.nonce
	})
}

// remember stores the identifiers of a message. It reports whether the message is new.
func (v *Conversation) remember(msg *Message) bool {
	if msg.ID != "" && v.knownIDs[msg.ID] || msg.nonce != "" && v.knownIDs[msg.nonce] {
		return false
	}
	for _, name := range []string{msg.ID, msg.nonce} {
		if name != "" {
			v.knownIDs[name] = true
		}
	}
	return true
}

// dropOldest drops the oldest tenth of the messages, which can be loaded again.
func (v *Conversation) dropOldest() {
	cut := maxMessages / 10
	for _, m := range v.Messages[:cut] {
		delete(v.knownIDs, m.ID)
		delete(v.knownIDs, m.nonce)
	}
	v.Messages = slices.Clone(v.Messages[cut:])
	v.AtStart, v.firstID = false, ""
	for _, m := range v.Messages {
		if m.ID != "" {
			v.firstID = m.ID
			break
		}
	}
}

// acknowledge removes an own message from the unsent ones. It is matched by its nonce, or by its
// text if the server dropped the tag.
func (v *Conversation) acknowledge(msg *Message) {
	_, nonce, _ := strings.Cut(msg.nonce, " ")
	at := slices.IndexFunc(v.unsent, func(u unsent) bool {
		if nonce != "" {
			return u.nonce == nonce
		}
		return u.kind == msg.Kind && u.text == msg.Text && u.state != queued
	})
	if at >= 0 {
		v.unsent = slices.Delete(v.unsent, at, at+1)
	}
}

// addEvent adds an entry that the server does not store.
func (c *Client) addEvent(v *Conversation, who, what string, m *ircmsg.Message, now time.Time) {
	msg := Message{Seq: c.nextSeq(), Time: now, From: who, Kind: EventMessage, Text: what, Own: c.IsOwn(who)}
	if has, value := m.GetTag("time"); has {
		if t, err := time.Parse(time.RFC3339Nano, value); err == nil {
			msg.Time = t
		}
	}
	c.receive(v, msg)
}

// onRedact handles REDACT TARGET MSGID [:REASON].
func (c *Client) onRedact(m *ircmsg.Message, _ time.Time) {
	if len(m.Params) < 2 {
		return
	}
	from := nickOf(m)
	target := m.Params[0]
	if !c.isRoom(target) && !c.IsOwn(from) {
		target = from
	}
	v := c.lookup(target)
	if v == nil {
		return
	}
	v.removeReaction(m.Params[1])
	for _, list := range [][]Message{v.Messages, v.held} {
		for i := range list {
			if list[i].ID == m.Params[1] {
				list[i].Text, list[i].Redacted = "", true
			}
		}
	}
	c.emit(Event{Kind: Changed, Conversation: v})
}
