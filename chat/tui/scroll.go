package tui

import (
	"fmt"
	"strings"

	"weir/chat/client"
)

// place is where the bottom row of the body is: a message of the current conversation, and how many
// of its rows are below.
func (m *Model) place() (index, hidden int) {
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

// above is how many rows there are above and with a place, counted up to most.
func (m *Model) above(index, hidden, most int) int {
	n := -hidden
	for i := index; i >= 0 && n < most; i-- {
		n += len(m.messageRows(i))
	}
	return min(n, most)
}

// atTop says whether the first message that is loaded can be seen, or nearly so.
func (m *Model) atTop() bool {
	if len(m.current.Messages) == 0 {
		return true
	}
	index, hidden := m.place()
	most := m.body() + 1
	return m.above(index, hidden, most) < most
}

// scroll moves by rows: up, or down if it is below zero.
func (m *Model) scroll(rows int) {
	if m.current == nil || len(m.current.Messages) == 0 {
		return
	}
	index, hidden := m.place()
	for ; rows > 0 && m.above(index, hidden, m.body()+1) > m.body(); rows-- {
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

// bottom goes to the end.
func (m *Model) bottom() { m.anchor = anchor{} }

// find goes to the next older message with the words that are searched for.
func (m *Model) find(words string) {
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
		index, _ := m.place()
		from = index - 1
	}
	for i := from; i >= 0; i-- {
		if m.matches(&m.current.Messages[i]) {
			m.anchor = anchor{m.current.Messages[i].Seq, 0}
			m.note(fmt.Sprintf("%d messages with “%s”; /search: further back; Esc: to the end", m.count(), m.search))
			return
		}
	}
	if m.current.AtStart {
		m.note("nothing older with “" + m.search + "”")
	} else {
		m.note("nothing with “" + m.search + "” in what is loaded: PgUp loads more")
	}
}

func (m *Model) matches(msg *client.Message) bool {
	return strings.Contains(strings.ToLower(Clean(msg.Text)), strings.ToLower(m.search))
}

func (m *Model) count() int {
	n := 0
	for i := range m.current.Messages {
		if m.matches(&m.current.Messages[i]) {
			n++
		}
	}
	return n
}
