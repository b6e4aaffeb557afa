package client

import (
	"slices"
	"strings"
	"time"

	"github.com/ergochat/irc-go/ircmsg"
)

func (c *Client) onJoin(m *ircmsg.Message, now time.Time) {
	if len(m.Params) == 0 {
		return
	}
	nick := nickOf(m)
	if c.Own(nick) {
		c.joined(m.Params[0])
		return
	}
	v := c.named(m.Params[0])
	if v == nil || c.member(v, nick) >= 0 {
		return
	}
	v.Members = append(v.Members, Member{Nick: nick})
	c.sortMembers(v.Members)
	c.happened(v, nick, "joined", m, now)
}

// joined is our own JOIN: asked for, or because another of our devices did.
func (c *Client) joined(room string) {
	v := c.conversation(room)
	if v == nil || v.Joined {
		return
	}
	v.Name, v.Joined, v.wanted = room, true, true
	v.Members = nil
	mine := v.mine
	v.mine = false
	c.emit(Event{Kind: Opened, Conversation: v, Mine: mine})
	c.catchUp(v)
}

// onJoinRefused is a numeric about a room that can't be joined, among others.
func (c *Client) onJoinRefused(m *ircmsg.Message, _ time.Time) {
	if len(m.Params) >= 3 {
		if v := c.named(m.Params[1]); v != nil && v.Room && !v.Joined {
			v.wanted, v.mine = false, false
			if len(v.Messages) == 0 && len(v.unsent) == 0 {
				c.forget(v)
			}
		}
	}
	c.other(m)
}

func (c *Client) onPart(m *ircmsg.Message, now time.Time) {
	if len(m.Params) == 0 {
		return
	}
	c.left(nickOf(m), m.Params[0], "left"+reason(m, 1), m, now, true)
}

func (c *Client) onKick(m *ircmsg.Message, now time.Time) {
	if len(m.Params) < 2 {
		return
	}
	c.left(m.Params[1], m.Params[0], "was removed by "+nickOf(m)+reason(m, 2), m, now, false)
}

// left takes somebody out of a room. Who left it himself needs it no more; who was thrown out may
// want to read why.
func (c *Client) left(nick, room, how string, m *ircmsg.Message, now time.Time, free bool) {
	v := c.named(room)
	if v == nil {
		return
	}
	if c.Own(nick) {
		v.Joined, v.wanted, v.Members, v.asked = false, false, nil, none
		if free {
			c.forget(v)
			return
		}
		c.happened(v, nick, how, m, now)
		c.emit(Event{Kind: Changed, Conversation: v})
		return
	}
	if at := c.member(v, nick); at >= 0 {
		v.Members = slices.Delete(v.Members, at, at+1)
		c.happened(v, nick, how, m, now)
	}
}

func reason(m *ircmsg.Message, at int) string {
	if len(m.Params) > at && m.Params[at] != "" {
		return " (" + m.Params[at] + ")"
	}
	return ""
}

func (c *Client) onQuit(m *ircmsg.Message, now time.Time) {
	nick := nickOf(m)
	for _, v := range c.conversations {
		if at := c.member(v, nick); at >= 0 {
			v.Members = slices.Delete(v.Members, at, at+1)
			c.happened(v, nick, "quit"+reason(m, 0), m, now)
		}
	}
}

func (c *Client) onNick(m *ircmsg.Message, now time.Time) {
	if len(m.Params) == 0 || m.Params[0] == "" {
		return
	}
	old, name := nickOf(m), m.Params[0]
	own := c.Own(old)
	if own {
		c.nick = name
		if c.state == Online {
			c.config.Nick = name
		}
		c.emit(Event{Kind: StateChanged})
	}
	for _, v := range c.conversations {
		if at := c.member(v, old); at >= 0 {
			v.Members[at].Nick = name
			c.sortMembers(v.Members)
			c.happened(v, old, "is now called "+name, m, now)
		}
	}
	if v := c.named(old); v != nil && !v.Room && !own {
		c.renamed(v, name)
	}
}

// renamed gives a conversation another name, unless one has it.
func (c *Client) renamed(v *Conversation, name string) {
	if other := c.named(name); other != nil && other != v {
		return
	}
	delete(c.byName, c.fold(v.Name))
	v.Name = name
	c.byName[c.fold(name)] = v
	c.emit(Event{Kind: Changed, Conversation: v})
}

// onRename is RENAME OLD NEW :REASON.
func (c *Client) onRename(m *ircmsg.Message, _ time.Time) {
	if len(m.Params) < 2 {
		return
	}
	if v := c.named(m.Params[0]); v != nil {
		c.renamed(v, m.Params[1])
	}
}

func (c *Client) onTopic(m *ircmsg.Message, now time.Time) {
	if len(m.Params) < 2 {
		return
	}
	v := c.named(m.Params[0])
	if v == nil {
		return
	}
	v.Topic = m.Params[1]
	if msg, ok := c.read(m, now); ok {
		c.arrived(v, msg)
	}
	c.emit(Event{Kind: Changed, Conversation: v})
}

// onTopicIs is 331 NICK ROOM :No topic, and 332 NICK ROOM :TOPIC.
func (c *Client) onTopicIs(m *ircmsg.Message, _ time.Time) {
	if len(m.Params) < 3 {
		return
	}
	if v := c.named(m.Params[1]); v != nil {
		v.Topic = ""
		if m.Command == "332" {
			v.Topic = m.Params[2]
		}
		c.emit(Event{Kind: Changed, Conversation: v})
	}
}

// maxMembers is how many members of a room are kept.
const maxMembers = 10_000

// onNames is 353 NICK SYMBOL ROOM :NAMES.
func (c *Client) onNames(m *ircmsg.Message, _ time.Time) {
	if len(m.Params) < 4 {
		return
	}
	v := c.named(m.Params[2])
	if v == nil {
		return
	}
	for word := range strings.FieldsSeq(m.Params[3]) {
		nick := strings.TrimLeft(word, ranks)
		nick, _, _ = strings.Cut(nick, "!")
		if nick != "" && len(v.names) < maxMembers {
			v.names = append(v.names, Member{Nick: nick, Prefix: word[:len(word)-len(strings.TrimLeft(word, ranks))]})
		}
	}
}

func (c *Client) onNamesEnd(m *ircmsg.Message, _ time.Time) {
	if len(m.Params) < 2 {
		return
	}
	if v := c.named(m.Params[1]); v != nil && v.Joined {
		v.Members, v.names = v.names, nil
		c.sortMembers(v.Members)
		c.emit(Event{Kind: Changed, Conversation: v})
	}
}

// onMode is MODE ROOM CHANGES; who changed rank is asked for again rather than worked out.
func (c *Client) onMode(m *ircmsg.Message, now time.Time) {
	if len(m.Params) < 2 {
		return
	}
	if v := c.named(m.Params[0]); v != nil && v.Joined {
		c.happened(v, nickOf(m), "set "+strings.Join(m.Params[1:], " "), m, now)
		if strings.ContainsAny(m.Params[1], "qaohv") {
			c.send("NAMES", v.Name)
		}
	}
}
