package tui

import (
	"fmt"

	"weir/chat/client"
)

// resultList is the list of search results, shown instead of the messages until one is opened.
type resultList struct {
	list     []client.SearchResult // newest first
	selected int
}

// startSearch searches on the server if it supports that, otherwise in the loaded messages.
func (m *Model) startSearch(words string) {
	if words == "" || !m.client.CanSearch() {
		m.findLoaded(words)
		return
	}
	m.search = words
	m.client.Search(nil, words)
	m.note("searching …")
}

// showResults shows the results that the server has sent.
func (m *Model) showResults(all []client.SearchResult) {
	m.notes = nil
	if len(all) == 0 {
		m.note("no messages with “" + m.search + "”")
		return
	}
	m.results = &resultList{}
	for i := len(all) - 1; i >= 0; i-- {
		m.results.list = append(m.results.list, all[i])
	}
}

// resultsKey handles a key while results are shown. It reports whether the key has a meaning there.
func (m *Model) resultsKey(name string) bool {
	f := m.results
	switch name {
	case "up", "ctrl+p":
		f.selected = max(0, f.selected-1)
	case "down", "ctrl+n":
		f.selected = min(len(f.list)-1, f.selected+1)
	case "pgup":
		f.selected = max(0, f.selected-m.bodyRows()/2)
	case "pgdown":
		f.selected = min(len(f.list)-1, f.selected+m.bodyRows()/2)
	case "enter":
		m.results = nil
		m.openResult(f.list[f.selected])
	case "esc":
		m.results = nil
	default:
		return false
	}
	return true
}

// openResult shows the message of a result. Older messages are loaded if necessary.
func (m *Model) openResult(f client.SearchResult) {
	v := m.client.Find(f.Target)
	if v == nil {
		m.note("you are not in " + f.Target + " any more")
		return
	}
	words := m.search
	m.show(v)
	m.search, m.goalID = words, f.Message.ID
}

// loadGoal loads older messages until the message of the opened result is loaded.
func (m *Model) loadGoal() {
	v := m.current
	if m.goalID == "" || v == nil {
		return
	}
	for i := range v.Messages {
		if v.Messages[i].ID == m.goalID {
			m.goalID = ""
			m.chosen = v.Messages[i].Seq
			m.anchor = anchor{v.Messages[min(i+m.bodyRows()/3, len(v.Messages)-1)].Seq, 0}
			m.chooseAt(i)
			return
		}
	}
	if v.AtStart {
		m.goalID = ""
		m.note("that message no longer exists")
		return
	}
	m.client.LoadOlder(v)
}

// resultRows renders the results and highlights the one that Enter opens.
func (m *Model) resultRows() []row {
	f := m.results
	var head row
	head.add(m.theme.unread, fmt.Sprintf("%d found", len(f.list))).add(m.theme.dim, " · ↑ ↓ choose · Enter: open · Esc: back")
	rows := []row{head}
	each := max(1, m.bodyRows()-1)
	first := max(0, f.selected-each+1)
	for i := first; i < len(f.list) && len(rows) < m.bodyRows(); i++ {
		msg := &f.list[i].Message
		s := style("")
		if i == f.selected {
			s = m.theme.current
		}
		var r row
		at := msg.Time.In(m.options.Zone)
		r.add(s, at.Format(pick(m.columns() < 90, "2 Jan ", "2 Jan 2006 15:04 ")))
		r.add(s, clip(Clean(f.list[i].Target), m.nickColumns()+2)+" ")
		r.add(pick(i == f.selected, s, m.theme.nick(msg.From)), msg.From+"  ")
		if i == f.selected {
			r.add(s, msg.Text)
			r.fit(s, m.columns())
		} else {
			for _, sp := range m.highlight(Clean(msg.Text), "", true) {
				r.add(sp.style, sp.text)
			}
			r.fit("", m.columns())
		}
		rows = append(rows, r)
	}
	return rows
}

func pick[T any](yes bool, a, b T) T {
	if yes {
		return a
	}
	return b
}
