package tui

import (
	"fmt"
	"strings"

	"weir/chat/client"
)

// bottomPosition returns the message at the bottom of the body and how many of its rows are below
// the body.
func (m *Model) bottomPosition() (index, hidden int) {
	messages := m.current.Messages
	if m.anchor.seq != 0 {
		for i := len(messages) - 1; i >= 0; i-- {
			if messages[i].Seq == m.anchor.seq {
				return i, min(m.anchor.hidden, len(m.messageRows(i))-1)
			}
		}
	}
	return len(messages) - 1, 0
}

// rowsAbove returns the number of rows up to and including a position, counted up to limit.
func (m *Model) rowsAbove(index, hidden, most int) int {
	n := -hidden
	for i := index; i >= 0 && n < most; i-- {
		n += len(m.messageRows(i))
	}
	return min(n, most)
}

// nearTop reports whether the first loaded message is visible or almost visible.
func (m *Model) nearTop() bool {
	if len(m.current.Messages) == 0 {
		return true
	}
	index, hidden := m.bottomPosition()
	most := m.bodyRows() + 1
	return m.rowsAbove(index, hidden, most) < most
}

// scroll scrolls up by rows, or down if rows is negative.
func (m *Model) scroll(rows int) {
	if m.current == nil || len(m.current.Messages) == 0 {
		return
	}
	index, hidden := m.bottomPosition()
	for ; rows > 0 && m.rowsAbove(index, hidden, m.bodyRows()+1) > m.bodyRows(); rows-- {
		if hidden++; hidden >= len(m.messageRows(index)) {
			index, hidden = index-1, 0
		}
	}
	for ; rows < 0; rows++ {
		if hidden > 0 {
			hidden--
		} else if index+1 < len(m.current.Messages) {
			index++
			hidden = len(m.messageRows(index)) - 1
		}
	}
	m.anchor = anchor{m.current.Messages[index].Seq, hidden}
	if hidden == 0 && index == len(m.current.Messages)-1 {
		m.bottom()
	}
}

// scrollNotes scrolls the notes down by rows, or up if rows is negative. It reports whether there
// are more notes than fit.
func (m *Model) scrollNotes(rows int) bool {
	last := len(m.allNoteRows()) - m.maxNoteRows() + 1
	if last <= 1 {
		return false
	}
	m.notesOffset = min(max(0, min(m.notesOffset, last)+rows), last)
	return true
}

// bottom scrolls to the end.
func (m *Model) bottom() { m.anchor = anchor{} }

// findLoaded scrolls to the next older loaded message that contains the words.
func (m *Model) findLoaded(words string) {
	again := words == "" && m.search != ""
	if words != "" {
		again = strings.EqualFold(words, m.search) && m.anchor.seq != 0
		m.search = words
	}
	if m.current == nil || m.search == "" || len(m.current.Messages) == 0 {
		m.note("/search needs words: /search apple cake")
		return
	}
	from := len(m.current.Messages) - 1
	if again {
		index, _ := m.bottomPosition()
		from = index - 1
	}
	for i := from; i >= 0; i-- {
		if m.matches(&m.current.Messages[i]) {
			m.anchor = anchor{m.current.Messages[i].Seq, 0}
			m.note(fmt.Sprintf("%d messages with “%s”; /search: next older; Esc: to the end", m.countMatches(), m.search))
			return
		}
	}
	if m.current.AtStart {
		m.note("nothing older with “" + m.search + "”")
	} else {
		m.note("nothing with “" + m.search + "” in the loaded messages: PgUp loads more")
	}
}

func (m *Model) matches(msg *client.Message) bool {
	return strings.Contains(strings.ToLower(Clean(msg.Text)), strings.ToLower(m.search))
}

func (m *Model) countMatches() int {
	n := 0
	for i := range m.current.Messages {
		if m.matches(&m.current.Messages[i]) {
			n++
		}
	}
	return n
}
