package client

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ergochat/irc-go/ircmsg"
)

// Reaction is what some think of a message: a sign, mostly, and who.
type Reaction struct {
	Text string // as it came: clean it before it is shown
	By   []string
}

// reaction is one person's.
type reaction struct{ text, nick, id string }

// Limits of what others can have us keep.
const (
	maxReaction  = 64   // bytes of a reaction's text
	maxReactions = 1000 // of a message
	maxReactedTo = 20_000
)

// Reactions are those to a message, in the order in which they were first made.
func (v *Conversation) Reactions(m *Message) []Reaction {
	var all []Reaction
	for _, r := range v.reactions[m.ID] {
		at := slices.IndexFunc(all, func(o Reaction) bool { return o.Text == r.text })
		if at < 0 {
			all = append(all, Reaction{Text: r.text})
			at = len(all) - 1
		}
		all[at].By = append(all[at].By, r.nick)
	}
	return all
}

// onTagMessage is TAGMSG: reactions are kept, all else is passed over.
func (c *Client) onTagMessage(m *ircmsg.Message, _ time.Time) {
	if len(m.Params) == 0 {
		return
	}
	from, target := nickOf(m), m.Params[0]
	if !c.isRoom(target) && !c.Own(from) {
		target = from
	}
	if v := c.named(target); v != nil && c.reacted(v, m) {
		c.emit(Event{Kind: Changed, Conversation: v})
	}
}

// reacted takes a line that may be a reaction, live or from the history.
func (c *Client) reacted(v *Conversation, m *ircmsg.Message) bool {
	_, text := m.GetTag("+draft/react")
	_, to := m.GetTag("+draft/reply")
	_, id := m.GetTag("msgid")
	if m.Command != "TAGMSG" || text == "" || to == "" || len(text) > maxReaction || !utf8.ValidString(text) {
		return false
	}
	nick := nickOf(m)
	list := v.reactions[to]
	if len(list) >= maxReactions || len(v.reactions) >= maxReactedTo && list == nil ||
		slices.ContainsFunc(list, func(r reaction) bool { return r.text == text && c.same(r.nick, nick) }) {
		return false
	}
	if v.reactions == nil {
		v.reactions = map[string][]reaction{}
	}
	v.reactions[to] = append(list, reaction{text, nick, id})
	return true
}

// unreact forgets a reaction that was taken back.
func (v *Conversation) unreact(id string) {
	for to, list := range v.reactions {
		v.reactions[to] = slices.DeleteFunc(list, func(r reaction) bool { return r.id == id })
	}
}

// React says what the user thinks of a message, or takes it back if it was said before.
func (c *Client) React(v *Conversation, m *Message, text string) {
	switch at := slices.IndexFunc(v.reactions[m.ID], func(r reaction) bool { return r.text == text && c.Own(r.nick) }); {
	case m.ID == "" || !c.caps["message-tags"] || c.state != Online:
		c.emit(Event{Kind: Trouble, Text: "the server does not pass on what is thought of this", Conversation: v})
	case at >= 0:
		c.send("REDACT", v.Name, v.reactions[m.ID][at].id)
	default:
		c.sendTagged(map[string]string{"+draft/react": strings.TrimSpace(text), "+draft/reply": m.ID}, "TAGMSG", v.Name)
	}
}

// Redact takes a message away, for everybody. The server knows who may.
func (c *Client) Redact(v *Conversation, m *Message) {
	if m.ID == "" || !c.caps["draft/message-redaction"] || c.state != Online {
		c.emit(Event{Kind: Trouble, Text: "this can't be taken back here", Conversation: v})
		return
	}
	c.send("REDACT", v.Name, m.ID)
}
