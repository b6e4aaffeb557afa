package tui

import (
	"slices"
	"strings"
	"unicode"
)

// editor is the input line with its history.
type editor struct {
	text         []rune
	cursor       int // cursor position in runes
	history      []string
	historyIndex int    // index in history of the line shown; len(history) for none
	draft        string // the input before the history was browsed
}

// maxHistory is the number of lines that the history keeps.
const maxHistory = 500

func (e *editor) String() string { return string(e.text) }

func (e *editor) set(text string) {
	e.text = []rune(text)
	e.cursor = len(e.text)
}

// insert inserts text at the cursor. Line breaks become blanks, so pasted text is never sent
// unread.
func (e *editor) insert(text string) {
	r := []rune(Clean(text))
	e.text = slices.Insert(e.text, e.cursor, r...)
	e.cursor += len(r)
}

// take returns the line, clears it and adds it to the history.
func (e *editor) take() string {
	text := e.String()
	if n := len(e.history); text != "" && (n == 0 || e.history[n-1] != text) {
		e.history = append(e.history, text)
		e.history = e.history[max(0, len(e.history)-maxHistory):]
	}
	e.set("")
	e.historyIndex = len(e.history)
	return text
}

// takeHidden returns the line and clears it without adding it to the history.
func (e *editor) takeHidden() string {
	text := e.String()
	e.set("")
	return text
}

// recall shows the line that is step lines newer in the history.
func (e *editor) recall(step int) {
	to := e.historyIndex + step
	if to < 0 || to > len(e.history) {
		return
	}
	if e.historyIndex == len(e.history) {
		e.draft = e.String()
	}
	if e.historyIndex = to; to == len(e.history) {
		e.set(e.draft)
		return
	}
	e.set(e.history[to])
}

// key handles an editing key. It reports whether the key is one.
func (e *editor) key(name string) bool {
	switch name {
	case "left", "ctrl+b":
		e.cursor = e.prevCluster()
	case "right", "ctrl+f":
		e.cursor = e.nextCluster()
	case "home", "ctrl+a":
		e.cursor = 0
	case "end", "ctrl+e":
		e.cursor = len(e.text)
	case "backspace", "ctrl+h":
		e.cut(e.prevCluster(), e.cursor)
	case "delete", "ctrl+d":
		e.cut(e.cursor, e.nextCluster())
	case "ctrl+u":
		e.cut(0, e.cursor)
	case "ctrl+k":
		e.cut(e.cursor, len(e.text))
	case "ctrl+w", "alt+backspace":
		e.cut(e.wordStart(), e.cursor)
	case "alt+b", "ctrl+left":
		e.cursor = e.wordStart()
	case "alt+f", "ctrl+right":
		e.cursor = e.wordEnd()
	case "up":
		e.recall(-1)
	case "down":
		e.recall(1)
	default:
		return false
	}
	return true
}

func (e *editor) cut(from, to int) {
	e.text = slices.Delete(e.text, from, to)
	e.cursor = from
}

// prevCluster returns the position before the grapheme cluster left of the cursor.
func (e *editor) prevCluster() int {
	text, last := string(e.text[:e.cursor]), 0
	for at := 0; at < len(text); {
		last = at
		c, _ := cluster(text[at:])
		at += len(c)
	}
	return len([]rune(text[:last]))
}

func (e *editor) nextCluster() int {
	if e.cursor == len(e.text) {
		return e.cursor
	}
	c, _ := cluster(string(e.text[e.cursor:]))
	return e.cursor + len([]rune(c))
}

func (e *editor) wordStart() int {
	at := e.cursor
	for at > 0 && unicode.IsSpace(e.text[at-1]) {
		at--
	}
	for at > 0 && !unicode.IsSpace(e.text[at-1]) {
		at--
	}
	return at
}

func (e *editor) wordEnd() int {
	at := e.cursor
	for at < len(e.text) && unicode.IsSpace(e.text[at]) {
		at++
	}
	for at < len(e.text) && !unicode.IsSpace(e.text[at]) {
		at++
	}
	return at
}

// visible returns the part of the line that fits in the columns and contains the cursor, and the
// cursor's column.
func (e *editor) visible(columns int) (text string, cursor int) {
	left := clipLeft(string(e.text[:e.cursor]), max(0, columns-1))
	rest := string(e.text[e.cursor:])
	cursor = width(left)
	for n := cursor; rest != ""; {
		c, w := cluster(rest)
		if n += w; n > columns {
			break
		}
		left += c
		rest = rest[len(c):]
	}
	return left, cursor
}

// word returns the word before the cursor and its position.
func (e *editor) word() (string, int) {
	from := e.cursor
	for from > 0 && e.text[from-1] != ' ' {
		from--
	}
	return string(e.text[from:e.cursor]), from
}

// completion is the state while Tab is pressed repeatedly.
type completion struct {
	from  int
	words []string
	next  int
	line  string // the line after the last completion; a different line ends it
}

// complete replaces the word before the cursor by the next candidate.
func (m *Model) complete() {
	e, c := &m.input, &m.completion
	if len(c.words) == 0 || c.line != e.String() {
		word, from := e.word()
		*c = completion{from: from, words: m.candidates(word, from == 0)}
	}
	if len(c.words) == 0 {
		return
	}
	word := []rune(c.words[c.next%len(c.words)])
	c.next++
	e.text = slices.Concat(e.text[:c.from], word, e.text[e.cursor:])
	e.cursor = c.from + len(word)
	c.line = e.String()
}

// candidates returns the completions of prefix: commands, rooms, or nicks, those of recent speakers
// first.
func (m *Model) candidates(prefix string, first bool) []string {
	var words []string
	add := func(word, end string) {
		if word = Clean(word); strings.HasPrefix(strings.ToLower(word), strings.ToLower(prefix)) && !slices.Contains(words, word+end) {
			words = append(words, word+end)
		}
	}
	switch {
	case first && strings.HasPrefix(prefix, "/"):
		for _, c := range commands {
			add("/"+c.name, " ")
		}
	case strings.HasPrefix(prefix, "#"):
		for _, v := range m.client.Conversations() {
			add(v.Name, " ")
		}
	case m.current != nil:
		end := " "
		if first {
			end = ": "
		}
		m.eachNick(func(nick string) { add(nick, end) })
	}
	return words
}

// eachNick calls add for every nick that the user may address in the current conversation.
func (m *Model) eachNick(add func(string)) {
	v := m.current
	here := map[string]bool{}
	for _, member := range v.Members {
		here[member.Nick] = true
	}
	for i := len(v.Messages) - 1; i >= max(0, len(v.Messages)-500); i-- {
		if msg := &v.Messages[i]; !msg.Own && (here[msg.From] || !v.Room) {
			add(msg.From)
		}
	}
	for _, member := range v.Members {
		add(member.Nick)
	}
}
