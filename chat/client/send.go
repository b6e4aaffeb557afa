package client

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ergochat/irc-go/ircmsg"
)

// maxText is the maximum number of bytes of text in a message. A line of 512 bytes (RFC 2812,
// section 2.3) then has space for the prefix that the server adds.
const maxText = 360

// Send sends a text to a conversation: see Reply.
func (c *Client) Send(v *Conversation, kind MessageKind, text string) { c.Reply(v, kind, text, nil) }

// Reply sends a text to a conversation, as a reply to a message if that is not nil. A long text is
// split. Without a connection it is queued. It is listed in Unsent until the server echoes it.
func (c *Client) Reply(v *Conversation, kind MessageKind, text string, to *Message) {
	reply := ""
	if to != nil && c.grantedCaps["message-tags"] {
		reply = to.ID
	}
	for _, part := range SplitText(text, maxText) {
		if len(v.unsent) >= maxUnsent {
			c.emit(Event{Kind: CommandFailed, Text: "too many unsent messages", Conversation: v})
			return
		}
		c.lastSeq++
		v.unsent = append(v.unsent, unsent{nonce: c.config.Nonce + "." + strconv.Itoa(c.lastSeq), text: part, kind: kind, replyTo: reply})
	}
	if c.state == Online && v.Joined && (v.historyRequest == noRequest || v.historyRequest == beforeRequest) {
		c.sendUnsent(v, true)
	}
}

// sendUnsent sends the queued messages. complete means that the history is known. A message from an
// earlier connection can then be sent again; otherwise the client can only report that it may be
// lost.
func (c *Client) sendUnsent(v *Conversation, complete bool) {
	if !v.Joined || c.state != Online {
		return
	}
	kept := v.unsent[:0]
	for _, u := range v.unsent {
		switch {
		case u.state == uncertain && (!complete || !c.hasHistory()):
			c.emit(Event{Kind: CommandFailed, Text: "possibly lost with the connection: " + u.text, Conversation: v})
		case u.state == inFlight:
			kept = append(kept, u)
		case c.grantedCaps["echo-message"]:
			c.sendMessage(v, u)
			u.state, u.nick = inFlight, c.nick
			kept = append(kept, u)
		default:
			c.sendMessage(v, u)
			c.addMessage(v, Message{Seq: c.nextSeq(), Time: c.lastReceived, From: c.nick, Kind: u.kind, Text: u.text, Own: true, ReplyTo: u.replyTo})
		}
	}
	v.unsent = slices.Clip(kept)
}

func (c *Client) sendMessage(v *Conversation, u unsent) {
	tags := map[string]string{}
	if c.grantedCaps["message-tags"] && c.config.Nonce != "" {
		tags[nonceTag] = u.nonce
	}
	if c.grantedCaps["message-tags"] && u.replyTo != "" {
		tags["+draft/reply"] = u.replyTo
	}
	command, text := "PRIVMSG", u.text
	switch u.kind {
	case ActionMessage:
		text = "\x01ACTION " + text + "\x01"
	case NoticeMessage:
		command = "NOTICE"
	}
	m := ircmsg.MakeMessage(tags, "", command, v.Name, text)
	m.ForceTrailing()
	if line, err := m.LineBytes(); err == nil {
		c.output = append(c.output, line...)
	}
}

// dropRefused removes the first unacknowledged message after the server refused it.
func (c *Client) dropRefused(v *Conversation) {
	if at := slices.IndexFunc(v.unsent, func(u unsent) bool { return u.state == inFlight }); at >= 0 {
		v.unsent = slices.Delete(v.unsent, at, at+1)
	}
}

// SplitText splits a text into parts of at most size bytes: at line breaks, then at spaces, then
// between characters.
func SplitText(text string, size int) []string {
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

// Join joins a room, now or on the next connection.
func (c *Client) Join(room, key string) {
	if !c.isRoom(room) {
		room = "#" + room
	}
	if strings.ContainsAny(room, " ,\r\n\x00") {
		c.emit(Event{Kind: CommandFailed, Text: "the name of a room cannot contain a space or comma"})
		return
	}
	v := c.conversation(room)
	if v == nil {
		c.emit(Event{Kind: CommandFailed, Text: "there are too many conversations: /part one first"})
		return
	}
	if v.Joined {
		c.emit(Event{Kind: Opened, Conversation: v, Requested: true})
		return
	}
	v.joinWanted, v.key, v.joinRequested = true, key, true
	if c.state == Online {
		c.sendJoin(v)
	}
}

// Part leaves a room or closes a direct conversation.
func (c *Client) Part(v *Conversation, why string) {
	v.joinWanted = false
	switch {
	case !v.Joined || !v.Room || c.state != Online:
		c.closeConversation(v)
	case why == "":
		c.send("PART", v.Name)
	default:
		c.send("PART", v.Name, why)
	}
}

// SetNick requests another nick.
func (c *Client) SetNick(nick string) {
	if c.state == Online {
		c.send("NICK", nick)
	}
	c.config.Nick = nick
}

// SetTopic changes the topic of a room.
func (c *Client) SetTopic(v *Conversation, topic string) { c.send("TOPIC", v.Name, topic) }

// Command sends a command that the user typed, such as "WHOIS ann".
func (c *Client) Command(line string) {
	m, err := ircmsg.ParseLine(line)
	if err != nil || c.state != Online {
		c.emit(Event{Kind: CommandFailed, Text: "not connected, or not a valid command"})
		return
	}
	c.send(m.Command, m.Params...)
}

// Quit sends QUIT. The server then closes the connection.
func (c *Client) Quit(why string) {
	c.quit = true
	if c.state == Registering || c.state == Online {
		c.sendReadMarkers()
		c.send("QUIT", why)
	}
}
