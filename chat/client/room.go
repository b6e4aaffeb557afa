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
	if c.IsOwn(nick) {
		c.onOwnJoin(m.Params[0])
		return
	}
	v := c.lookup(m.Params[0])
	if v == nil || c.memberIndex(v, nick) >= 0 {
		return
	}
	v.Members = append(v.Members, Member{Nick: nick})
	c.sortMembers(v.Members)
	c.addEvent(v, nick, "joined", m, now)
}

// onOwnJoin handles a JOIN of the client's own nick: the client is now in the room. It, or another
// device of the account, has requested the JOIN.
func (c *Client) onOwnJoin(room string) {
	v := c.conversation(room)
	if v == nil || v.Joined {
		return
	}
	v.Name, v.Joined, v.joinWanted = room, true, true
	v.Members = nil
	requested := v.joinRequested
	v.joinRequested = false
	c.emit(Event{Kind: Opened, Conversation: v, Requested: requested})
	c.catchUp(v)
}

// onJoinRefused handles the numerics that refuse a JOIN: 403, 405, 471 and 473 to 477. 403 and 476
// may also answer another command, so they count as a refused JOIN only if the client is not in the
// room.
func (c *Client) onJoinRefused(m *ircmsg.Message, _ time.Time) {
	if len(m.Params) >= 3 {
		if v := c.lookup(m.Params[1]); v != nil && v.Room && !v.Joined {
			v.joinWanted, v.joinRequested = false, false
			if len(v.Messages) == 0 && len(v.unsent) == 0 {
				c.closeConversation(v)
			}
		}
	}
	c.showUnhandled(m)
}

func (c *Client) onPart(m *ircmsg.Message, now time.Time) {
	if len(m.Params) == 0 {
		return
	}
	c.removeMember(nickOf(m), m.Params[0], "left"+reasonSuffix(m, 1), m, now, true)
}

func (c *Client) onKick(m *ircmsg.Message, now time.Time) {
	if len(m.Params) < 2 {
		return
	}
	c.removeMember(m.Params[1], m.Params[0], "was removed by "+nickOf(m)+reasonSuffix(m, 2), m, now, false)
}

// removeMember removes a user from a room. If the client itself left voluntarily, the conversation
// is closed; after a kick it stays open to show the reason.
func (c *Client) removeMember(nick, room, event string, m *ircmsg.Message, now time.Time, voluntary bool) {
	v := c.lookup(room)
	if v == nil {
		return
	}
	if c.IsOwn(nick) {
		v.Joined, v.joinWanted, v.Members, v.historyRequest = false, false, nil, noRequest
		if voluntary {
			c.closeConversation(v)
			return
		}
		c.addEvent(v, nick, event, m, now)
		c.emit(Event{Kind: Changed, Conversation: v})
		return
	}
	if at := c.memberIndex(v, nick); at >= 0 {
		v.Members = slices.Delete(v.Members, at, at+1)
		c.addEvent(v, nick, event, m, now)
	}
}

func reasonSuffix(m *ircmsg.Message, at int) string {
	if len(m.Params) > at && m.Params[at] != "" {
		return " (" + m.Params[at] + ")"
	}
	return ""
}

func (c *Client) onQuit(m *ircmsg.Message, now time.Time) {
	nick := nickOf(m)
	for _, v := range c.conversations {
		if at := c.memberIndex(v, nick); at >= 0 {
			v.Members = slices.Delete(v.Members, at, at+1)
			c.addEvent(v, nick, "quit"+reasonSuffix(m, 0), m, now)
		}
	}
}

func (c *Client) onNick(m *ircmsg.Message, now time.Time) {
	if len(m.Params) == 0 || m.Params[0] == "" {
		return
	}
	old, name := nickOf(m), m.Params[0]
	own := c.IsOwn(old)
	if own {
		c.nick = name
		// The next connection asks for this nick again. While registering, the server may have
		// given the client another nick only because the preferred one is in use: that one stays
		// preferred.
		if c.state == Online {
			c.config.Nick = name
		}
		c.emit(Event{Kind: StateChanged})
	}
	for _, v := range c.conversations {
		if at := c.memberIndex(v, old); at >= 0 {
			v.Members[at].Nick = name
			c.sortMembers(v.Members)
			c.addEvent(v, old, "is now called "+name, m, now)
		}
	}
	if v := c.lookup(old); v != nil && !v.Room && !own {
		c.renameConversation(v, name)
	}
}

// renameConversation renames a conversation, unless another one has the name.
func (c *Client) renameConversation(v *Conversation, name string) {
	if other := c.lookup(name); other != nil && other != v {
		return
	}
	delete(c.byName, c.fold(v.Name))
	v.Name = name
	c.byName[c.fold(name)] = v
	c.emit(Event{Kind: Changed, Conversation: v})
}

// onRename handles RENAME OLD NEW :REASON.
func (c *Client) onRename(m *ircmsg.Message, _ time.Time) {
	if len(m.Params) < 2 {
		return
	}
	if v := c.lookup(m.Params[0]); v != nil {
		c.renameConversation(v, m.Params[1])
	}
}

func (c *Client) onTopic(m *ircmsg.Message, now time.Time) {
	if len(m.Params) < 2 {
		return
	}
	v := c.lookup(m.Params[0])
	if v == nil {
		return
	}
	v.Topic = m.Params[1]
	if msg, ok := c.parseMessage(m, now); ok {
		c.receive(v, msg)
	}
	c.emit(Event{Kind: Changed, Conversation: v})
}

// onTopicIs handles 331 NICK ROOM :No topic, and 332 NICK ROOM :TOPIC.
func (c *Client) onTopicIs(m *ircmsg.Message, _ time.Time) {
	if len(m.Params) < 3 {
		return
	}
	if v := c.lookup(m.Params[1]); v != nil {
		v.Topic = ""
		if m.Command == "332" {
			v.Topic = m.Params[2]
		}
		c.emit(Event{Kind: Changed, Conversation: v})
	}
}

// maxMembers is how many members of a room are taken from its NAMES replies.
const maxMembers = 10_000

// onNames handles 353 NICK SYMBOL ROOM :NAMES.
func (c *Client) onNames(m *ircmsg.Message, _ time.Time) {
	if len(m.Params) < 4 {
		return
	}
	v := c.lookup(m.Params[2])
	if v == nil {
		return
	}
	for word := range strings.FieldsSeq(m.Params[3]) {
		nick := strings.TrimLeft(word, ranks)
		nick, _, _ = strings.Cut(nick, "!")
		if nick != "" && len(v.incomingMembers) < maxMembers {
			v.incomingMembers = append(v.incomingMembers, Member{Nick: nick, Prefix: word[:len(word)-len(strings.TrimLeft(word, ranks))]})
		}
	}
}

func (c *Client) onNamesEnd(m *ircmsg.Message, _ time.Time) {
	if len(m.Params) < 2 {
		return
	}
	if v := c.lookup(m.Params[1]); v != nil && v.Joined {
		v.Members, v.incomingMembers = v.incomingMembers, nil
		c.sortMembers(v.Members)
		c.emit(Event{Kind: Changed, Conversation: v})
	}
}

// onMode handles MODE ROOM CHANGES. After a change of ranks it requests NAMES instead of computing
// them.
func (c *Client) onMode(m *ircmsg.Message, now time.Time) {
	if len(m.Params) < 2 {
		return
	}
	if v := c.lookup(m.Params[0]); v != nil && v.Joined {
		c.addEvent(v, nickOf(m), "set "+strings.Join(m.Params[1:], " "), m, now)
		if strings.ContainsAny(m.Params[1], "qaohv") {
			c.send("NAMES", v.Name)
		}
	}
}
