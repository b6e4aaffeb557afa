package tui

import (
	"slices"
	"strings"
	"unicode"
)

// editor is the line that is typed, and those that were.
type editor struct {
	text    []rune
	at      int // the cursor, in runes
	history []string
	past    int    // of history that is shown; len(history): none
	draft   string // what was typed before history was looked at
}

// maxHistory is how many lines are remembered.
const maxHistory = 500

func (e *editor) String() string { return string(e.text) }

func (e *editor) set(text string) {
	e.text = []rune(text)
	e.at = len(e.text)
}

// insert adds text at the cursor. Line ends become blanks: what is pasted is sent by its reader.
func (e *editor) insert(text string) {
	r := []rune(Clean(text))
	e.text = slices.Insert(e.text, e.at, r...)
	e.at += len(r)
}

// take is the line, which is then empty and remembered.
func (e *editor) take() string {
	text := e.String()
	if n := len(e.history); text != "" && (n == 0 || e.history[n-1] != text) {
		e.history = append(e.history, text)
		e.history = e.history[max(0, len(e.history)-maxHistory):]
	}
	e.set("")
	e.past = len(e.history)
	return text
}

// hidden is the line, which is then empty and forgotten.
func (e *editor) hidden() string {
	text := e.String()
	e.set("")
	return text
}

// recall shows the line by steps older or newer.
func (e *editor) recall(step int) {
	to := e.past + step
	if to < 0 || to > len(e.history) {
		return
	}
	if e.past == len(e.history) {
		e.draft = e.String()
	}
	if e.past = to; to == len(e.history) {
		e.set(e.draft)
		return
	}
	e.set(e.history[to])
}

// key does what a key does to the line; false if it does nothing.
func (e *editor) key(name string) bool {
	switch name {
	case "left", "ctrl+b":
		e.at = e.before()
	case "right", "ctrl+f":
		e.at = e.behind()
	case "home", "ctrl+a":
		e.at = 0
	case "end", "ctrl+e":
		e.at = len(e.text)
	case "backspace", "ctrl+h":
		e.cut(e.before(), e.at)
	case "delete", "ctrl+d":
		e.cut(e.at, e.behind())
	case "ctrl+u":
		e.cut(0, e.at)
	case "ctrl+k":
		e.cut(e.at, len(e.text))
	case "ctrl+w", "alt+backspace":
		e.cut(e.wordBefore(), e.at)
	case "alt+b", "ctrl+left":
		e.at = e.wordBefore()
	case "alt+f", "ctrl+right":
		e.at = e.wordBehind()
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
	e.at = from
}

// before is the place before the character at the cursor's left, which may be of several runes.
func (e *editor) before() int {
	text, last := string(e.text[:e.at]), 0
	for at := 0; at < len(text); {
		last = at
		c, _ := cluster(text[at:])
		at += len(c)
	}
	return len([]rune(text[:last]))
}

func (e *editor) behind() int {
	if e.at == len(e.text) {
		return e.at
	}
	c, _ := cluster(string(e.text[e.at:]))
	return e.at + len([]rune(c))
}

func (e *editor) wordBefore() int {
	at := e.at
	for at > 0 && unicode.IsSpace(e.text[at-1]) {
		at--
	}
	for at > 0 && !unicode.IsSpace(e.text[at-1]) {
		at--
	}
	return at
}

func (e *editor) wordBehind() int {
	at := e.at
	for at < len(e.text) && unicode.IsSpace(e.text[at]) {
		at++
	}
	for at < len(e.text) && !unicode.IsSpace(e.text[at]) {
		at++
	}
	return at
}

// visible is the part of the line that fits into columns with the cursor in it, and the cursor's
// column.
func (e *editor) visible(columns int) (text string, cursor int) {
	left := clipLeft(string(e.text[:e.at]), max(0, columns-1))
	rest := string(e.text[e.at:])
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

// word is what the cursor stands behind, and where it begins.
func (e *editor) word() (string, int) {
	from := e.at
	for from > 0 && e.text[from-1] != ' ' {
		from--
	}
	return string(e.text[from:e.at]), from
}

// completion is a completion that goes on while Tab is pressed.
type completion struct {
	from  int
	words []string
	next  int
	line  string // what it left; anything else ends it
}

// complete puts the next word of those that may be meant at the cursor.
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
	e.text = slices.Concat(e.text[:c.from], word, e.text[e.at:])
	e.at = c.from + len(word)
	c.line = e.String()
}

// candidates are the words that begin so: commands, rooms, or nicks, those who spoke last first.
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
		m.nicks(func(nick string) { add(nick, end) })
	}
	return words
}

// nicks tells of everybody who may be meant in the current conversation.
func (m *Model) nicks(tell func(string)) {
	v := m.current
	here := map[string]bool{}
	for _, member := range v.Members {
		here[member.Nick] = true
	}
	for i := len(v.Messages) - 1; i >= max(0, len(v.Messages)-500); i-- {
		if msg := &v.Messages[i]; !msg.Own && (here[msg.From] || !v.Room) {
			tell(msg.From)
		}
	}
	for _, member := range v.Members {
		tell(member.Nick)
	}
}
