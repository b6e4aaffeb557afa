package tui

import (
	"strings"
	"time"
	"unicode/utf8"

	"weir/chat/client"
)

// nickColumns returns the width of the column of nicks.
func (m *Model) nickColumns() int {
	switch {
	case m.columns() < 40:
		return 6
	case m.columns() < 75:
		return 10
	}
	return 14
}

// messageRows renders a message of the current conversation, after a separator if a day or the
// unread messages start here.
func (m *Model) messageRows(i int) []row {
	msg := &m.current.Messages[i]
	at := msg.Time.In(m.options.Zone)
	var rows []row
	if i == 0 || day(m.current.Messages[i-1].Time.In(m.options.Zone)) != day(at) {
		rows = append(rows, m.separator(at.Format("Monday, 2 January 2006"), m.theme.dim))
	}
	if m.isFirstUnread(i) {
		rows = append(rows, m.separator("new", m.theme.unread))
	}
	return append(rows, m.textRows(msg, at)...)
}

func day(t time.Time) string { return t.Format("2006-01-02") }

// isFirstUnread reports whether a message was the first unread one when the conversation was shown.
func (m *Model) isFirstUnread(i int) bool {
	all := m.current.Messages
	return !m.readUntil.IsZero() && all[i].Time.After(m.readUntil) && !all[i].Own && i > 0 && !all[i-1].Time.After(m.readUntil)
}

func (m *Model) separator(text string, s style) row {
	var r row
	side := max(1, (m.columns()-width(text)-2)/2)
	r.add(m.theme.dim, strings.Repeat("─", side)).add(s, " "+text+" ")
	r.add(m.theme.dim, strings.Repeat("─", max(1, m.columns()-r.width)))
	return r
}

// textRows renders a message without separators: time, nick, and the text with a hanging indent.
func (m *Model) textRows(msg *client.Message, at time.Time) []row {
	var head row
	head.add(pick(msg.Seq == m.chosen, m.theme.current, m.theme.dim), at.Format("15:04")).add("", " ")
	m.addName(&head, msg)
	indent := head.width
	var rows []row
	if msg.ReplyTo != "" {
		rows = append(rows, m.quotedRow(msg.ReplyTo, indent))
	}
	for i, text := range wrap(m.textOf(msg), m.columns()-indent) {
		var r row
		if i == 0 {
			r = head
		}
		r.fill("", indent)
		rows = append(rows, *r.join(text))
	}
	return append(rows, m.reactionRows(msg, indent)...)
}

// quotedRow renders the start of the message that a reply refers to.
func (m *Model) quotedRow(id string, indent int) row {
	words := "an earlier message"
	for i := len(m.current.Messages) - 1; i >= 0; i-- {
		if to := &m.current.Messages[i]; to.ID == id {
			words = Clean(to.From) + ": " + Clean(to.Text)
			if to.Redacted {
				words = Clean(to.From) + ": (removed)"
			}
			break
		}
	}
	var r row
	r.fill("", indent)
	r.add(m.theme.dim, clip("↪ "+words, max(1, m.columns()-indent)))
	return r
}

// reactionRows renders the reactions to a message.
func (m *Model) reactionRows(msg *client.Message, indent int) []row {
	var words []string
	for _, r := range m.current.Reactions(msg) {
		words = append(words, Clean(r.Text)+" "+Clean(strings.Join(r.Nicks, ", ")))
	}
	if len(words) == 0 || msg.Redacted {
		return nil
	}
	var rows []row
	for _, text := range wrap([]span{{strings.Join(words, " · "), m.theme.dim}}, m.columns()-indent) {
		var r row
		r.fill("", indent)
		rows = append(rows, *r.join(text))
	}
	return rows
}

// addName adds the sender's nick, right-aligned in its column. An event has a dot instead.
func (m *Model) addName(r *row, msg *client.Message) {
	columns := m.nickColumns()
	name, s := clip(Clean(msg.From), columns), m.theme.nick(msg.From)
	switch {
	case msg.Kind == client.EventMessage:
		name, s = "·", m.theme.dim
	case msg.Kind == client.ActionMessage:
		name = "*"
	case msg.Own:
		s = m.theme.own
	}
	r.add("", strings.Repeat(" ", columns-width(name))).add(s, name).add("", "  ")
}

func (m *Model) textOf(msg *client.Message) []span {
	text := Clean(msg.Text)
	switch {
	case msg.Redacted:
		return []span{{"(removed)", m.theme.dim}}
	case msg.Kind == client.EventMessage && msg.From == "":
		return []span{{text, m.theme.trouble}}
	case msg.Kind == client.EventMessage:
		return []span{{Clean(msg.From) + " " + text, m.theme.dim}}
	}
	var spans []span
	base := style("")
	switch msg.Kind {
	case client.ActionMessage:
		spans = append(spans, span{Clean(msg.From) + " ", m.theme.nick(msg.From)})
	case client.NoticeMessage:
		base = m.theme.dim
	}
	return append(spans, m.highlight(text, base, msg.Own)...)
}

// highlight marks search matches, links, and the user's own nick.
func (m *Model) highlight(text string, base style, own bool) []span {
	var spans []span
	plain := 0
	mark := func(from, to int, s style) {
		if plain < from {
			spans = append(spans, span{text[plain:from], base})
		}
		spans = append(spans, span{text[from:to], s})
		plain = to
	}
	for i := 0; i < len(text); {
		switch n := m.searchMatchLen(text[i:]); {
		case n > 0:
			mark(i, i+n, m.theme.found)
			i += n
			continue
		}
		if atWordStart(text, i) {
			if n := linkLen(text[i:]); n > 0 {
				mark(i, i+n, m.theme.link)
				i += n
				continue
			}
			if n := nickLen(text[i:], m.client.Nick()); n > 0 && !own {
				mark(i, i+n, m.theme.mention)
				i += n
				continue
			}
		}
		_, size := utf8.DecodeRuneInString(text[i:])
		i += size
	}
	if plain < len(text) {
		spans = append(spans, span{text[plain:], base})
	}
	return spans
}

// searchMatchLen returns the length of the search match at the start of text, 0 if there is none.
func (m *Model) searchMatchLen(text string) int {
	if n := len(m.search); n > 0 && n <= len(text) && strings.EqualFold(text[:n], m.search) {
		return n
	}
	return 0
}

func atWordStart(text string, at int) bool {
	return at == 0 || strings.IndexByte(" (<\"'*_,;:@+[", text[at-1]) >= 0
}

// linkLen returns the length of the link at the start of text, without punctuation that follows it;
// 0 if there is none.
func linkLen(text string) int {
	for _, scheme := range []string{"https://", "http://", "ircs://", "irc://"} {
		if len(text) > len(scheme) && strings.EqualFold(text[:len(scheme)], scheme) {
			end := strings.IndexAny(text, " <>\"")
			if end < 0 {
				end = len(text)
			}
			link := strings.TrimRight(text[:end], ".,;:!?'")
			if !strings.Contains(link, "(") {
				link = strings.TrimRight(link, ")")
			}
			if len(link) > len(scheme) {
				return len(link)
			}
		}
	}
	return 0
}

// nickLen returns the length of nick if text starts with it as a separate word, otherwise 0.
func nickLen(text, nick string) int {
	n := len(nick)
	if n == 0 || len(text) < n || !strings.EqualFold(text[:n], nick) {
		return 0
	}
	if n < len(text) && strings.IndexByte(" ,.;:!?)>'\"*", text[n]) < 0 {
		return 0
	}
	return n
}
