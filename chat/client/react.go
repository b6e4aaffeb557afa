package client

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ergochat/irc-go/ircmsg"
)

// Reaction is a reaction (draft/react) to a message, usually an emoji, with the users who made it.
type Reaction struct {
	Text  string // unsanitized
	Nicks []string
}

// reaction is the reaction of one user.
type reaction struct{ text, nick, id string }

// Limits of what other users can make the client store.
const (
	maxReaction  = 64     // bytes of text
	maxReactions = 1000   // reactions to one message
	maxReactedTo = 20_000 // messages with reactions, per conversation
)

// Reactions returns the reactions to a message, in the order in which they were first made.
func (v *Conversation) Reactions(m *Message) []Reaction {
	var all []Reaction
	for _, r := range v.reactions[m.ID] {
		at := slices.IndexFunc(all, func(o Reaction) bool { return o.Text == r.text })
		if at < 0 {
			all = append(all, Reaction{Text: r.text})
			at = len(all) - 1
		}
		all[at].Nicks = append(all[at].Nicks, r.nick)
	}
	return all
}

// onTagMessage handles TAGMSG: it stores reactions and ignores all else.
func (c *Client) onTagMessage(m *ircmsg.Message, _ time.Time) {
	if len(m.Params) == 0 {
		return
	}
	from, target := nickOf(m), m.Params[0]
	if !c.isRoom(target) && !c.IsOwn(from) {
		target = from
	}
	if v := c.lookup(target); v != nil && c.addReaction(v, m) {
		c.emit(Event{Kind: Changed, Conversation: v})
	}
}

// addReaction stores a reaction, live or from the history. It reports whether the line is a new
// reaction.
func (c *Client) addReaction(v *Conversation, m *ircmsg.Message) bool {
	_, text := m.GetTag("+draft/react")
	_, to := m.GetTag("+draft/reply")
	_, id := m.GetTag("msgid")
	if m.Command != "TAGMSG" || text == "" || to == "" || len(text) > maxReaction || !utf8.ValidString(text) {
		return false
	}
	nick := nickOf(m)
	list := v.reactions[to]
	if len(list) >= maxReactions || len(v.reactions) >= maxReactedTo && list == nil ||
		slices.ContainsFunc(list, func(r reaction) bool { return r.text == text && c.sameName(r.nick, nick) }) {
		return false
	}
	if v.reactions == nil {
		v.reactions = map[string][]reaction{}
	}
	v.reactions[to] = append(list, reaction{text, nick, id})
	return true
}

// removeReaction removes a reaction that was redacted.
func (v *Conversation) removeReaction(id string) {
	for to, list := range v.reactions {
		v.reactions[to] = slices.DeleteFunc(list, func(r reaction) bool { return r.id == id })
	}
}

// React sends a reaction to a message, or redacts it if the user has already made it.
func (c *Client) React(v *Conversation, m *Message, text string) {
	switch at := slices.IndexFunc(v.reactions[m.ID], func(r reaction) bool { return r.text == text && c.IsOwn(r.nick) }); {
	case m.ID == "" || !c.grantedCaps["message-tags"] || c.state != Online:
		c.emit(Event{Kind: CommandFailed, Text: "reactions are not supported here", Conversation: v})
	case at >= 0:
		c.send("REDACT", v.Name, v.reactions[m.ID][at].id)
	default:
		c.sendTagged(map[string]string{"+draft/react": strings.TrimSpace(text), "+draft/reply": m.ID}, "TAGMSG", v.Name)
	}
}

// Redact deletes a message for all users. The server checks the permission.
func (c *Client) Redact(v *Conversation, m *Message) {
	if m.ID == "" || !c.grantedCaps["draft/message-redaction"] || c.state != Online {
		c.emit(Event{Kind: CommandFailed, Text: "messages cannot be deleted here", Conversation: v})
		return
	}
	c.send("REDACT", v.Name, m.ID)
}
