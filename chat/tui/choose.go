package tui

import (
	"slices"
	"strings"

	"weir/chat/client"
)

// A message is chosen by Alt-K and Alt-J, which go up and down, and what /reply, /react and /delete
// then do is done with it. Without one these mean the newest message of somebody else, and /delete
// the newest of one's own.

// choose goes to the next message above, or below.
func (m *Model) choose(by int) {
	if m.current == nil {
		return
	}
	all := m.current.Messages
	at := m.chosenAt()
	if at < 0 {
		at, _ = m.place()
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
		m.point(at)
	}
}

// point chooses a message and has it be seen.
func (m *Model) point(at int) {
	m.chosen = m.current.Messages[at].Seq
	bottom, hidden := m.place()
	rows := -hidden
	for i := bottom; i >= at && rows <= m.body(); i-- {
		rows += len(m.messageRows(i))
	}
	if at > bottom || at == bottom && hidden > 0 || rows > m.body() {
		m.anchor = anchor{m.chosen, 0}
	}
}

// chosenAt is the place of the chosen message, -1 if there is none.
func (m *Model) chosenAt() int {
	if m.current == nil || m.chosen == 0 {
		return -1
	}
	return slices.IndexFunc(m.current.Messages, func(msg client.Message) bool { return msg.Seq == m.chosen })
}

// meant is the message that a command is about; nil, with a note, if there is none.
func (m *Model) meant(own bool) *client.Message {
	if m.current == nil {
		m.note("you are in no room: /join #room")
		return nil
	}
	if at := m.chosenAt(); at >= 0 {
		return &m.current.Messages[at]
	}
	for i := len(m.current.Messages) - 1; i >= 0; i-- {
		if msg := &m.current.Messages[i]; msg.Own == own && msg.Kind != client.EventMessage && !msg.Redacted && msg.ID != "" {
			return msg
		}
	}
	m.note("there is no such message here: Alt-K chooses one")
	return nil
}

func (m *Model) reply(args string) {
	if args == "" {
		m.note("/reply needs what you answer: /reply of course")
		return
	}
	if msg := m.meant(false); msg != nil {
		m.client.Reply(m.current, client.TextMessage, args, msg)
		m.chosen = 0
		m.bottom()
	}
}

// signs are names for what is hard to type.
var signs = map[string]string{"+1": "👍", "-1": "👎", "heart": "❤️", "laugh": "😂", "hooray": "🎉", "wow": "😮", "sad": "😢", "eyes": "👀"}

func (m *Model) react(args string) {
	if sign, ok := signs[args]; ok {
		args = sign
	}
	if args == "" || strings.Contains(args, " ") {
		m.note("/react needs a sign, or one of +1 -1 heart laugh hooray wow sad eyes; again takes it back")
		return
	}
	if msg := m.meant(false); msg != nil {
		m.client.React(m.current, msg, args)
	}
}

func (m *Model) remove(string) {
	if msg := m.meant(true); msg != nil {
		m.client.Redact(m.current, msg)
		m.chosen = 0
	}
}

// register asks for a password, which is not shown, and makes an account.
func (m *Model) register(invite string) {
	m.secret = func(password string) { m.client.Register(invite, password) }
	m.note("choose a password for the account " + m.client.Nick() + ", 8 characters or more; Esc: rather not")
}

// mention goes to the oldest message that names the user and was not read, here or elsewhere.
func (m *Model) mention() {
	for _, v := range m.client.Conversations() {
		if v.Mentions == 0 {
			continue
		}
		read := v.ReadUntil
		m.show(v)
		for i := range v.Messages {
			if msg := &v.Messages[i]; msg.Time.After(read) && !msg.Own && msg.Kind != client.EventMessage && (msg.Mention || !v.Room) {
				m.point(i)
				return
			}
		}
	}
	m.note("nobody named you in what you have not read")
}
