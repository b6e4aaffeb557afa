package tui

import (
	"fmt"

	"weir/chat/client"
)

// found is what a search has found, in place of the messages until one is gone to.
type found struct {
	list []client.SearchResult // the newest first
	at   int
}

// look searches: on the server if it can, and otherwise what is loaded.
func (m *Model) look(words string) {
	if words == "" || !m.client.CanSearch() {
		m.find(words)
		return
	}
	m.search = words
	m.client.Search(nil, words)
	m.note("searching …")
}

// results takes what the server has found.
func (m *Model) results(all []client.SearchResult) {
	m.notes = nil
	if len(all) == 0 {
		m.note("nothing was found with “" + m.search + "”")
		return
	}
	m.found = &found{}
	for i := len(all) - 1; i >= 0; i-- {
		m.found.list = append(m.found.list, all[i])
	}
}

// foundKey does what a key does while results are shown; false if it does nothing.
func (m *Model) foundKey(name string) bool {
	f := m.found
	switch name {
	case "up", "ctrl+p":
		f.at = max(0, f.at-1)
	case "down", "ctrl+n":
		f.at = min(len(f.list)-1, f.at+1)
	case "pgup":
		f.at = max(0, f.at-m.body()/2)
	case "pgdown":
		f.at = min(len(f.list)-1, f.at+m.body()/2)
	case "enter":
		m.found = nil
		m.reach(f.list[f.at])
	case "esc":
		m.found = nil
	default:
		return false
	}
	return true
}

// reach goes to a message, for which older ones may have to be loaded.
func (m *Model) reach(f client.SearchResult) {
	v := m.client.Find(f.Target)
	if v == nil {
		m.note("you are not in " + f.Target + " any more")
		return
	}
	words := m.search
	m.show(v)
	m.search, m.goal = words, f.Message.ID
}

// approach loads older messages until the one that is gone to is there.
func (m *Model) approach() {
	v := m.current
	if m.goal == "" || v == nil {
		return
	}
	for i := range v.Messages {
		if v.Messages[i].ID == m.goal {
			m.goal = ""
			m.chosen = v.Messages[i].Seq
			m.anchor = anchor{v.Messages[min(i+m.body()/3, len(v.Messages)-1)].Seq, 0}
			m.point(i)
			return
		}
	}
	if v.AtStart {
		m.goal = ""
		m.note("that message is not there any more")
		return
	}
	m.client.LoadOlder(v)
}

// foundRows are the results, with the one that Enter goes to.
func (m *Model) foundRows() []row {
	f := m.found
	var head row
	head.add(m.theme.unread, fmt.Sprintf("%d found", len(f.list))).add(m.theme.dim, " · ↑ ↓ choose, Enter goes there, Esc back")
	rows := []row{head}
	each := max(1, m.body()-1)
	first := max(0, f.at-each+1)
	for i := first; i < len(f.list) && len(rows) < m.body(); i++ {
		msg := &f.list[i].Message
		s := style("")
		if i == f.at {
			s = m.theme.current
		}
		var r row
		at := msg.Time.In(m.o.Zone)
		r.add(s, at.Format(pick(m.columns() < 90, "2 Jan ", "2 Jan 2006 15:04 ")))
		r.add(s, clip(Clean(f.list[i].Target), m.nickColumns()+2)+" ")
		r.add(pick(i == f.at, s, m.theme.nick(msg.From)), msg.From+"  ")
		if i == f.at {
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
