package client

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/ergochat/irc-go/ircmsg"
)

// MessageKind is what a message is.
type MessageKind int

// The kinds of messages.
const (
	Said    MessageKind = iota
	Action              // CTCP ACTION: "/me waves"
	Noticed             // NOTICE
	// somebody came, left, or changed something; Text is a sentence without its subject
	Happened
)

// Message is a line of a conversation. Its texts are as they came from the network: clean them
// before they are shown.
type Message struct {
	Seq      uint64 // tells messages of this client apart; not an order
	ID       string // msgid, "" if it has none
	Time     time.Time
	From     string // nick
	Kind     MessageKind
	Text     string
	Own      bool   // said by this user
	Mention  bool   // names this user
	Redacted bool   // its text is gone
	Reply    string // msgid of the message that it answers, "" for none

	nonce string // of the sender's client, with who it was
}

// nonceTag is the tag by which a client knows its own messages again.
const nonceTag = "+weir/n"

const timeFormat = "2006-01-02T15:04:05.000Z"

func stamp(t time.Time) string { return t.UTC().Format(timeFormat) }

// read makes a message of PRIVMSG, NOTICE or TOPIC; ok is false when it is nothing to show.
func (c *Client) read(m *ircmsg.Message, now time.Time) (msg Message, ok bool) {
	msg = Message{From: nickOf(m), Time: now, Text: last(m), Seq: c.seq()}
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
	_, msg.Reply = m.GetTag("+draft/reply")
	msg.Own = c.Own(msg.From)
	switch m.Command {
	case "TOPIC":
		msg.Kind, msg.Text = Happened, "changed the topic: "+msg.Text
	case "NOTICE":
		msg.Kind = Noticed
	case "PRIVMSG":
		if ctcp, is := strings.CutPrefix(msg.Text, "\x01"); is {
			text, action := strings.CutPrefix(strings.TrimSuffix(ctcp, "\x01"), "ACTION ")
			msg.Kind, msg.Text = Action, text
			ok = !action
		}
	default:
		return msg, false
	}
	msg.Mention = !msg.Own && msg.Kind != Happened && mentions(msg.Text, c.nick)
	return msg, !ok && len(m.Params) >= 2
}

// seq is a number that no other message of this client has.
func (c *Client) seq() uint64 {
	c.counter++
	return uint64(c.counter)
}

func nickOf(m *ircmsg.Message) string {
	nick, _, _ := strings.Cut(m.Source, "!")
	return nick
}

// mentions says whether a text has a nick as a word of its own.
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
		if !inWord(before) && !inWord(behind) {
			return true
		}
		from = at + len(nick)
	}
}

func inWord(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-[]{}\\|`^", r))
}

// onMessage is PRIVMSG and NOTICE, live.
func (c *Client) onMessage(m *ircmsg.Message, now time.Time) {
	// the server, to us
	if !strings.Contains(m.Source, "!") || c.state != Online || len(m.Params) < 2 {
		if m.Command == "NOTICE" {
			c.emit(Event{Kind: Told, Text: last(m)})
		}
		return
	}
	msg, ok := c.read(m, now)
	if !ok {
		return
	}
	c.arrived(c.place(m.Params[0], msg.From, msg.Own), msg)
}

// place is the conversation that a message for a target belongs to.
func (c *Client) place(target, from string, own bool) *Conversation {
	if room := strings.TrimLeft(target, ranks); c.isRoom(room) {
		target = room
	}
	if !c.isRoom(target) && !own {
		target = from
	}
	conv := c.named(target)
	if conv == nil && !c.isRoom(target) {
		if conv = c.conversation(target); conv != nil {
			c.emit(Event{Kind: Opened, Conversation: conv})
			c.catchUp(conv)
		}
	}
	return conv
}

// arrived takes a live message. Behind a gap it waits until the gap is filled.
func (c *Client) arrived(v *Conversation, msg Message) {
	switch {
	case v == nil:
	case v.asked == after || v.asked == latest:
		if len(v.later) < maxMessages {
			v.later = append(v.later, msg)
		}
	default:
		c.add(v, msg)
	}
}

// add appends a message, unless it is there already.
func (c *Client) add(v *Conversation, msg Message) {
	if !v.learn(&msg) {
		return
	}
	if msg.Own {
		v.acknowledge(&msg)
	}
	if msg.ID != "" {
		v.last = msg.ID
		if v.first == "" {
			v.first = msg.ID
		}
	}
	v.Messages = append(v.Messages, msg)
	if len(v.Messages) > maxMessages {
		v.shorten()
	}
	at := &v.Messages[len(v.Messages)-1]
	v.countOne(at)
	c.emit(Event{Kind: NewMessage, Conversation: v, Message: at})
}

// learn notes what a message is known by, and says whether it is new.
func (v *Conversation) learn(msg *Message) bool {
	if msg.ID != "" && v.known[msg.ID] || msg.nonce != "" && v.known[msg.nonce] {
		return false
	}
	for _, name := range []string{msg.ID, msg.nonce} {
		if name != "" {
			v.known[name] = true
		}
	}
	return true
}

// shorten drops the oldest tenth, which can be loaded again.
func (v *Conversation) shorten() {
	cut := maxMessages / 10
	for _, m := range v.Messages[:cut] {
		delete(v.known, m.ID)
		delete(v.known, m.nonce)
	}
	v.Messages = slices.Clone(v.Messages[cut:])
	v.Complete, v.first = false, ""
	for _, m := range v.Messages {
		if m.ID != "" {
			v.first = m.ID
			break
		}
	}
}

// acknowledge takes an own message that is in the log off what is unsent: by its tag, or its text
// where it came without.
func (v *Conversation) acknowledge(msg *Message) {
	_, nonce, _ := strings.Cut(msg.nonce, " ")
	at := slices.IndexFunc(v.unsent, func(u unsent) bool {
		if nonce != "" {
			return u.nonce == nonce
		}
		return u.kind == msg.Kind && u.text == msg.Text && (u.sent || u.before)
	})
	if at >= 0 {
		v.unsent = slices.Delete(v.unsent, at, at+1)
	}
}

// happened adds a line that the server does not keep.
func (c *Client) happened(v *Conversation, who, what string, m *ircmsg.Message, now time.Time) {
	msg := Message{Seq: c.seq(), Time: now, From: who, Kind: Happened, Text: what, Own: c.Own(who)}
	if has, value := m.GetTag("time"); has {
		if t, err := time.Parse(time.RFC3339Nano, value); err == nil {
			msg.Time = t
		}
	}
	c.arrived(v, msg)
}

// onRedact is REDACT TARGET MSGID [:REASON].
func (c *Client) onRedact(m *ircmsg.Message, _ time.Time) {
	if len(m.Params) < 2 {
		return
	}
	from := nickOf(m)
	target := m.Params[0]
	if !c.isRoom(target) && !c.Own(from) {
		target = from
	}
	v := c.named(target)
	if v == nil {
		return
	}
	v.unreact(m.Params[1])
	for _, list := range [][]Message{v.Messages, v.later} {
		for i := range list {
			if list[i].ID == m.Params[1] {
				list[i].Text, list[i].Redacted = "", true
			}
		}
	}
	c.emit(Event{Kind: Changed, Conversation: v})
}
