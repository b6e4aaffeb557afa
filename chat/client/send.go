package client

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ergochat/irc-go/ircmsg"
)

// maxText is how many bytes of text a message has, so that its line is within 512 bytes with what
// the server adds.
const maxText = 360

// Say says a text in a conversation: see Answer.
func (c *Client) Say(v *Conversation, kind MessageKind, text string) { c.Answer(v, kind, text, nil) }

// Answer says a text in a conversation, as an answer to a message if that is not nil, in parts if
// it is long. Without a connection it waits for one. It is shown as unsent until the server has it.
func (c *Client) Answer(v *Conversation, kind MessageKind, text string, to *Message) {
	reply := ""
	if to != nil && c.caps["message-tags"] {
		reply = to.ID
	}
	for _, part := range Split(text, maxText) {
		if len(v.unsent) >= maxUnsent {
			c.emit(Event{Kind: Trouble, Text: "too much waits to be sent", Conversation: v})
			return
		}
		c.counter++
		v.unsent = append(v.unsent, unsent{nonce: c.config.Nonce + strconv.Itoa(c.counter), text: part, kind: kind, reply: reply})
	}
	if c.state == Online && v.Joined && (v.asked == none || v.asked == before) {
		c.flush(v, true)
	}
}

// flush sends what was not sent yet. Complete says that what is in the server's log is known: then
// what an earlier connection took along can be said again, and otherwise it can only be reported.
func (c *Client) flush(v *Conversation, complete bool) {
	if !v.Joined || c.state != Online {
		return
	}
	kept := v.unsent[:0]
	for _, u := range v.unsent {
		switch {
		case u.before && (!complete || !c.canHistory()):
			c.emit(Event{Kind: Trouble, Text: "perhaps lost with the connection: " + u.text, Conversation: v})
		case u.sent:
			kept = append(kept, u)
		case c.caps["echo-message"]:
			c.transmit(v, u)
			u.sent = true
			kept = append(kept, u)
		default:
			c.transmit(v, u)
			c.add(v, Message{Seq: c.seq(), Time: c.heard, From: c.nick, Kind: u.kind, Text: u.text, Own: true, Reply: u.reply})
		}
	}
	v.unsent = slices.Clip(kept)
}

func (c *Client) transmit(v *Conversation, u unsent) {
	tags := map[string]string{}
	if c.caps["message-tags"] && c.config.Nonce != "" {
		tags[nonceTag] = u.nonce
	}
	if c.caps["message-tags"] && u.reply != "" {
		tags["+draft/reply"] = u.reply
	}
	command, text := "PRIVMSG", u.text
	switch u.kind {
	case Action:
		text = "\x01ACTION " + text + "\x01"
	case Noticed:
		command = "NOTICE"
	}
	m := ircmsg.MakeMessage(tags, "", command, v.Name, text)
	m.ForceTrailing()
	if line, err := m.LineBytes(); err == nil {
		c.out = append(c.out, line...)
	}
}

// refused takes a message off what is unsent: the first that waits will not be echoed.
func (c *Client) refused(v *Conversation) {
	if at := slices.IndexFunc(v.unsent, func(u unsent) bool { return u.sent }); at >= 0 {
		v.unsent = slices.Delete(v.unsent, at, at+1)
	}
}

// Split cuts a text into parts of at most size bytes: at line ends, then at spaces, then between
// characters.
func Split(text string, size int) []string {
	var parts []string
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\r' || r == '\n' || r == 0 }) {
		for len(line) > size {
			end := size
			for end > 0 && !utf8.RuneStart(line[end]) {
				end--
			}
			if end == 0 { // not UTF-8
				end = size
			}
			if space := strings.LastIndexByte(line[:end], ' '); space > size/2 {
				end = space
			}
			parts = append(parts, line[:end])
			line = strings.TrimPrefix(line[end:], " ")
		}
		if line != "" {
			parts = append(parts, line)
		}
	}
	return parts
}

// Join joins a room, now or when there is a connection.
func (c *Client) Join(room, key string) {
	if !c.isRoom(room) {
		room = "#" + room
	}
	if strings.ContainsAny(room, " ,\r\n\x00") {
		c.emit(Event{Kind: Trouble, Text: "a room's name has no space or comma"})
		return
	}
	v := c.conversation(room)
	if v == nil {
		c.emit(Event{Kind: Trouble, Text: "there are too many conversations: /part one first"})
		return
	}
	if v.Joined {
		c.emit(Event{Kind: Opened, Conversation: v, Mine: true})
		return
	}
	v.wanted, v.key, v.mine = true, key, true
	if c.state == Online {
		c.sendJoin(v)
	}
}

// Part leaves a room, or closes what is said with a person.
func (c *Client) Part(v *Conversation, why string) {
	v.wanted = false
	switch {
	case !v.Joined || !v.Room || c.state != Online:
		c.forget(v)
	case why == "":
		c.send("PART", v.Name)
	default:
		c.send("PART", v.Name, why)
	}
}

// SetNick asks for another nick.
func (c *Client) SetNick(nick string) {
	if c.state == Online {
		c.send("NICK", nick)
	}
	c.config.Nick = nick
}

// SetTopic changes a room's topic.
func (c *Client) SetTopic(v *Conversation, topic string) { c.send("TOPIC", v.Name, topic) }

// Command sends a command of the user's own, such as "WHOIS ann".
func (c *Client) Command(line string) {
	m, err := ircmsg.ParseLine(line)
	if err != nil || c.state != Online {
		c.emit(Event{Kind: Trouble, Text: "this can't be sent now"})
		return
	}
	c.send(m.Command, m.Params...)
}

// Quit says goodbye. The server closes the connection.
func (c *Client) Quit(why string) {
	c.quit = true
	if c.state == Registering || c.state == Online {
		c.sendMarks()
		c.send("QUIT", why)
	}
}
