package tui

import (
	"fmt"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"weir/chat/client"
)

// The screen, from the top: a bar with the room and its topic; rooms, messages and members side by
// side; notes; a bar with the nick and the state of the connection; the input line. Narrow screens
// omit the lists of rooms and members.

const (
	minRoomsWidth   = 50  // minimum width for the list of rooms
	minMembersWidth = 100 // minimum width for the list of members
)

// roomColumns returns the width of the list of rooms with its border.
func (m *Model) roomColumns() int {
	switch {
	case m.width < minRoomsWidth:
		return 0
	case m.width < minMembersWidth:
		return 17
	}
	return 22
}

// memberColumns returns the width of the list of members with its border.
func (m *Model) memberColumns() int {
	if m.width < minMembersWidth || m.current == nil || !m.current.Room {
		return 0
	}
	return 20
}

// columns returns the width of messages, without a blank on both sides.
func (m *Model) columns() int { return max(1, m.width-m.roomColumns()-m.memberColumns()-2) }

// bodyRows returns the number of rows for messages.
func (m *Model) bodyRows() int { return max(1, m.height-3-len(m.noteRows())) }

// View implements tea.Model.
func (m *Model) View() tea.View {
	rows := []row{m.topBar()}
	left, middle, right := m.roomRows(), m.middle(), m.memberRows()
	for i := range m.bodyRows() {
		var r row
		if m.roomColumns() > 0 {
			r.join(rowAt(left, i)).fit("", m.roomColumns()-1).add(m.theme.dim, "│")
		}
		r.add("", " ").join(rowAt(middle, i)).fit("", m.width-m.memberColumns())
		if m.memberColumns() > 0 {
			r.add(m.theme.dim, "│ ").join(rowAt(right, i))
		}
		rows = append(rows, r)
	}
	rows = append(rows, m.noteRows()...)
	rows = append(rows, m.bottomBar())
	line, cursor := m.inputRow()
	rows = append(rows, line)
	rows = rows[max(0, len(rows)-m.height):]

	var b strings.Builder
	for i := range rows {
		if i > 0 {
			b.WriteByte('\n')
		}
		rows[i].fit("", m.width).write(&b)
	}
	v := tea.NewView(b.String())
	v.AltScreen, v.ReportFocus = true, true
	v.WindowTitle = m.title()
	v.Cursor = tea.NewCursor(min(cursor, m.width-1), len(rows)-1)
	return v
}

func rowAt(rows []row, i int) row {
	if i < len(rows) {
		return rows[i]
	}
	return row{}
}

func (m *Model) title() string {
	n := 0
	for _, v := range m.client.Conversations() {
		n += v.Mentions
	}
	title := "weir"
	if m.current != nil {
		title = Clean(m.current.Name)
	}
	if n > 0 {
		title = fmt.Sprintf("(%d) %s", n, title)
	}
	return clip(title, 60)
}

func (m *Model) topBar() row {
	var r row
	if v := m.current; v != nil {
		r.add(m.theme.bar, " "+v.Name)
		if v.Topic != "" {
			r.add(m.theme.bar, " · "+v.Topic)
		}
	} else {
		r.add(m.theme.bar, " weir chat · /join #room, or /help")
	}
	r.fit(m.theme.bar, m.width)
	return r
}

func (m *Model) bottomBar() row {
	var left, right row
	left.add(m.theme.bar, " "+m.client.Nick()+" · "+m.statusText())
	if m.client.State() == client.Online && m.client.Network() != "" {
		left.add(m.theme.bar, " · "+m.client.Network())
	}
	switch {
	case m.current == nil:
	case m.anchor != anchor{}:
		text := "scrolled"
		if m.current.Unread > 0 {
			text = strconv.Itoa(m.current.Unread) + " new below"
		}
		right.add(m.theme.bar, pick(m.width < 60, " Esc: end ", " "+text+", Esc: to the end "))
	case m.current.Loading:
		right.add(m.theme.bar, "loading ")
	case m.current.Room && m.memberColumns() == 0 && m.current.Joined:
		right.add(m.theme.bar, strconv.Itoa(len(m.current.Members))+" here ")
	}
	left.fit(m.theme.bar, max(0, m.width-right.width)).join(right)
	return left
}

func (m *Model) inputRow() (row, int) {
	var r row
	if m.passwordInput != nil {
		r.add(m.theme.dim, "password › ").add("", strings.Repeat("•", len(m.input.text)))
		return r, r.width
	}
	r.add(m.theme.dim, "› ")
	text, cursor := m.input.visible(max(1, m.width-r.width))
	cursor += r.width
	r.add("", text)
	return r, cursor
}

// roomRows renders the list of conversations, scrolled to the current one.
func (m *Model) roomRows() []row {
	var rows []row
	here := 0
	for i, v := range m.client.Conversations() {
		var name, count row
		s := style("")
		switch {
		case v == m.current:
			s, here = m.theme.current, i
		case v.Mentions > 0:
			s = m.theme.unread
		case !v.Joined:
			s = m.theme.dim
		}
		if v.Unread > 0 && v != m.current {
			count.add(m.theme.unread, " "+formatCount(v.Unread))
		}
		count.add(s, " ")
		name.add(s, " "+v.Name).fit(s, max(0, m.roomColumns()-1-count.width)).join(count)
		rows = append(rows, name)
	}
	if extra := here + 1 - m.bodyRows(); extra > 0 {
		rows = rows[extra:]
	}
	return rows
}

func formatCount(n int) string {
	if n > 999 {
		return "999+"
	}
	return strconv.Itoa(n)
}

func (m *Model) memberRows() []row {
	if m.memberColumns() == 0 {
		return nil
	}
	var rows []row
	members := m.current.Members
	for i, member := range members {
		var r row
		if i == m.bodyRows()-1 && len(members) > m.bodyRows() {
			r.add(m.theme.dim, fmt.Sprintf("and %d more", len(members)-i))
			return append(rows, r)
		}
		r.add(m.theme.dim, clip(member.Prefix, 1)).add(m.theme.nick(member.Nick), clip(Clean(member.Nick), m.memberColumns()-4))
		rows = append(rows, r)
	}
	return rows
}

// middle renders the body: search results or messages.
func (m *Model) middle() []row {
	if m.results != nil {
		return m.resultRows()
	}
	return m.messages()
}

// messages renders the newest messages above the bottom, followed by unsent ones.
func (m *Model) messages() []row {
	v, height := m.current, m.bodyRows()
	if v == nil {
		return nil
	}
	var tail []row
	if m.anchor == (anchor{}) {
		tail = m.unsentRows()
		tail = tail[max(0, len(tail)-height/2):]
	}
	if len(v.Messages) == 0 {
		return alignBottom(append(m.emptyRows(), tail...), height)
	}
	index, hidden := m.bottomPosition()
	parts := [][]row{tail}
	for n := len(tail) - hidden; index >= 0 && n < height; index-- {
		rows := m.messageRows(index)
		n += len(rows)
		parts = append(parts, rows)
	}
	var rows []row
	for i := len(parts) - 1; i >= 1; i-- {
		rows = append(rows, parts[i]...)
	}
	rows = append(rows[:len(rows)-hidden], tail...)
	return alignBottom(rows[max(0, len(rows)-height):], height)
}

// alignBottom pads rows with empty ones at the top.
func alignBottom(rows []row, height int) []row {
	return append(make([]row, max(0, height-len(rows))), rows...)
}

func (m *Model) emptyRows() []row {
	text := ""
	switch v := m.current; {
	case v.AtStart:
		text = "Nothing has been said here yet. Type a message and press Enter, or /help."
	case m.client.State() == client.Online && !v.Joined:
		text = "You are not in this room."
	}
	return wrap([]span{{text, m.theme.dim}}, m.columns())
}

func (m *Model) unsentRows() []row {
	var rows []row
	for _, text := range m.current.Unsent() {
		var head row
		head.add(m.theme.dim, "  …   ").fill("", 6+m.nickColumns()+2)
		for i, line := range wrap([]span{{Clean(text), m.theme.dim}}, m.columns()-head.width) {
			var r row
			if i == 0 {
				r = head
			}
			r.fill("", head.width)
			rows = append(rows, *r.join(line))
		}
	}
	return rows
}

// maxNoteRows returns the most rows of notes: all but one of the rows between the bars.
func (m *Model) maxNoteRows() int { return max(2, m.height-4) }

// allNoteRows renders the notes.
func (m *Model) allNoteRows() []row {
	var rows []row
	for _, note := range m.notes {
		for _, r := range wrap([]span{{note, m.theme.trouble}}, m.width-2) {
			var line row
			rows = append(rows, *line.add("", " ").join(r))
		}
	}
	return rows
}

// noteRows renders the visible notes. If there are more, the last row says how to see them.
func (m *Model) noteRows() []row {
	rows, most := m.allNoteRows(), m.maxNoteRows()
	if len(rows) <= most {
		return rows
	}
	last := len(rows) - most + 1 // one row is for the hint
	at := min(m.notesOffset, last)
	var hint row
	hint.add(m.theme.dim, fmt.Sprintf(" %d-%d of %d · PgUp PgDn · Esc: close", at+1, at+most-1, len(rows)))
	return append(rows[at:at+most-1:at+most-1], hint)
}
