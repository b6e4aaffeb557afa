package tui

import (
	"slices"
	"strings"

	"weir/chat/client"
)

// Alt-K and Alt-J choose the message above and below. /reply, /react and /delete act on the chosen
// message. Without one, they act on the newest message of another user, and /delete on the user's
// own newest.

// choose moves the choice up (-1) or down (1).
func (m *Model) choose(by int) {
	if m.current == nil {
		return
	}
	all := m.current.Messages
	at := m.chosenIndex()
	if at < 0 {
		at, _ = m.bottomPosition()
		at++
	}
	for at += by; at >= 0 && at < len(all) && all[at].Kind == client.EventMessage; {
		at += by
	}
	switch {
	case at >= len(all):
		m.chosen = 0
		m.bottom()
	case at >= 0:
		m.chooseAt(at)
	}
}

// chooseAt chooses the message at an index and scrolls it into view.
func (m *Model) chooseAt(at int) {
	m.chosen = m.current.Messages[at].Seq
	bottom, hidden := m.bottomPosition()
	rows := -hidden
	for i := bottom; i >= at && rows <= m.bodyRows(); i-- {
		rows += len(m.messageRows(i))
	}
	if at > bottom || at == bottom && hidden > 0 || rows > m.bodyRows() {
		m.anchor = anchor{seq: m.chosen} // its last row is the last one of the screen
	}
}

// chosenIndex returns the index of the chosen message, -1 if there is none.
func (m *Model) chosenIndex() int {
	if m.current == nil || m.chosen == 0 {
		return -1
	}
	return slices.IndexFunc(m.current.Messages, func(msg client.Message) bool { return msg.Seq == m.chosen })
}

// targetMessage returns the message that a command acts on. If there is none, it adds a note and
// returns nil.
func (m *Model) targetMessage(own bool) *client.Message {
	if m.current == nil {
		m.note("you are in no room: /join #room")
		return nil
	}
	if at := m.chosenIndex(); at >= 0 {
		return &m.current.Messages[at]
	}
	for i := len(m.current.Messages) - 1; i >= 0; i-- {
		if msg := &m.current.Messages[i]; msg.Own == own && msg.Kind != client.EventMessage && !msg.Redacted && msg.ID != "" {
			return msg
		}
	}
	m.note("no message to act on: Alt-K chooses one")
	return nil
}

func (m *Model) reply(args string) {
	if args == "" {
		m.note("/reply needs a text: /reply of course")
		return
	}
	if msg := m.targetMessage(false); msg != nil {
		m.client.Reply(m.current, client.TextMessage, args, msg)
		m.chosen = 0
		m.bottom()
	}
}

// emojiNames are names of reactions that are hard to type.
var emojiNames = map[string]string{"+1": "👍", "-1": "👎", "heart": "❤️", "laugh": "😂", "hooray": "🎉", "wow": "😮", "sad": "😢", "eyes": "👀"}

func (m *Model) react(args string) {
	if sign, ok := emojiNames[args]; ok {
		args = sign
	}
	if args == "" || strings.Contains(args, " ") {
		m.note("/react needs an emoji, or one of +1 -1 heart laugh hooray wow sad eyes; repeat it to remove it")
		return
	}
	if msg := m.targetMessage(false); msg != nil {
		m.client.React(m.current, msg, args)
	}
}

func (m *Model) deleteMessage(string) {
	if msg := m.targetMessage(true); msg != nil {
		m.client.Redact(m.current, msg)
		m.chosen = 0
	}
}

// register reads a password, which is not echoed, and creates an account.
func (m *Model) register(invite string) {
	m.passwordInput = func(password string) { m.client.Register(invite, password) }
	m.note("choose a password for the account " + m.client.Nick() + ", 8 characters or more; Esc: cancel")
}

// showMention shows the first conversation with unread mentions, and chooses the oldest of them. In
// a direct conversation every message of the other user counts as a mention.
func (m *Model) showMention() {
	for _, v := range m.client.Conversations() {
		if v.Mentions == 0 {
			continue
		}
		read := v.ReadUntil // show changes it
		m.show(v)
		for i := range v.Messages {
			if msg := &v.Messages[i]; msg.Time.After(read) && !msg.Own && msg.Kind != client.EventMessage && (msg.Mention || !v.Room) {
				m.chooseAt(i)
				return
			}
		}
	}
	m.note("no unread message mentions you")
}
