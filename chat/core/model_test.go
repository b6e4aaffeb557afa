package core

import (
	"slices"
	"strconv"
	"strings"

	"weir/chat/irc"
	"weir/chat/log"
)

// model says what clients and disks of a world may see. It knows the calls of the environment and
// their results (tap_test.go), and what clients were sent. It knows nothing of the core.
//
// Each line of a log has a token, such as <17>, that no other line has.
type model struct {
	w           *world
	entries     map[string]*entry   // lines that were committed or refused, by token
	logs        map[string]*roomLog // by id
	shown       map[string]map[string]string
	topicAt     map[string]int  // by log: when the last topic that a client was sent was committed
	forgotAt    int             // when a core ended without an answer to all calls
	unsureFiles map[string]bool // paths of files whose replacement failed
	// paths of logs that could not be opened once: a session that logged in then has missed lines
	unopened map[string]bool
	markers  map[markerOf]int64 // read markers that were acknowledged
	bans     map[string]certainty
}

// certainty is what the model knows of a change: calls without an answer, or with an error, may
// have changed the disk.
type certainty uint8

const (
	no certainty = iota
	unsure
	yes
)

// markerOf names a read marker that all devices of an account share.
type markerOf struct{ account, log string }

// entry is a line of a log.
type entry struct {
	token, source, command string
	room                   *roomLog
	offset                 int64
	at                     int // event at which it was committed; 0: it was refused
	redaction              certainty
}

// roomLog is what a log must have.
type roomLog struct {
	id        string
	entries   []*entry // committed lines, in order
	inDoubt   []string // tokens of the batch without an answer, and of refused ones before it
	cut       []string // tokens of refused batches that only a loss of power may bring back
	first     int64    // lines before it were removed
	retaining bool     // a retention has failed: any lines before retainEnd may be removed
	retainEnd int64
	deleting  bool // it may have been deleted
	deleted   bool
}

func newModel(w *world) *model {
	return &model{w: w, entries: map[string]*entry{}, logs: map[string]*roomLog{}, shown: map[string]map[string]string{}, topicAt: map[string]int{},
		unsureFiles: map[string]bool{}, unopened: map[string]bool{}, markers: map[markerOf]int64{}, bans: map[string]certainty{}}
}

// tokenOf returns the token in a text, "" if there is none.
func tokenOf(text string) string {
	from := strings.IndexByte(text, '<')
	if from < 0 {
		return ""
	}
	to := strings.IndexByte(text[from:], '>')
	if to < 0 {
		return ""
	}
	return text[from : from+to+1]
}

// log returns the model of the log with an id.
func (m *model) log(id string) *roomLog {
	if m.logs[id] == nil {
		m.logs[id] = &roomLog{id: id}
		m.w.alias(id)
	}
	return m.logs[id]
}

// commit records stored lines.
func (m *model) commit(r *roomLog, lines []log.Line) {
	if len(lines) > 0 { // before which the others were cut
		r.inDoubt, r.cut = nil, nil
	}
	for _, line := range lines {
		words := strings.SplitN(string(line.Plain()), " ", 3)
		e := &entry{token: tokenOf(string(line.Plain())), source: words[0][1:], command: words[1], room: r, offset: line.Offset(), at: m.w.event()}
		if m.isCommitted(e.token) {
			m.w.failf("got %s in a log twice, want it once", e.token)
		}
		m.entries[e.token] = e
		r.entries = append(r.entries, e)
		m.checkSpeech(e)
		m.w.trace("committed %s at %d", e.token, e.offset)
	}
}

// refuse records that a batch was refused. It stays in doubt: if the disk fails to cut it too, and
// the core dies before it has cut it, it is there after the next start.
func (m *model) refuse(r *roomLog, batch []string) {
	for _, token := range batch {
		m.entries[token] = &entry{token: token, room: r}
		m.w.trace("refused %s", token)
	}
}

// isCommitted reports whether a line was committed.
func (m *model) isCommitted(token string) bool {
	return m.entries[token] != nil && m.entries[token].at > 0
}

// redact sets what is known of the redaction of lines.
func (r *roomLog) redact(offsets []int64, is certainty) {
	for _, e := range r.entries {
		if slices.Contains(offsets, e.offset) {
			e.redaction = max(e.redaction, is)
		}
	}
}

// compareLog compares the lines of a log, from an offset on, with those that it must have: each
// committed line once, in order, and behind them only lines of a batch without an answer.
func (m *model) compareLog(r *roomLog, lines []log.Line, inDoubt []string) (unanswered []log.Line) {
	if len(lines) > 0 && (r.deleted || !r.retaining && lines[0].Offset() < r.first) {
		m.w.failf("the log %s has %q, which was deleted", m.w.alias(r.id), lines[0])
	}
	for _, e := range r.entries {
		switch isLine := len(lines) > 0 && e.isLine(lines[0]); {
		case e.offset < r.first || r.retaining && e.offset < r.retainEnd && !isLine:
			continue
		case !isLine:
			m.w.failf("the log %s misses %s at %d, or has it changed: it has %q", m.w.alias(r.id), e.token, e.offset, lines[:min(1, len(lines))])
			return nil
		}
		lines = lines[1:]
	}
	for _, line := range lines {
		i := slices.Index(inDoubt, tokenOf(string(line)))
		if i < 0 {
			m.w.failf("the log %s has %q, which was refused or never sent", m.w.alias(r.id), line)
		}
		inDoubt = inDoubt[i+1:]
	}
	return lines
}

// isLine reports whether a line of a log is the entry, as it was or redacted.
func (e *entry) isLine(line log.Line) bool {
	if line.Redacted() {
		return line.Offset() == e.offset && e.redaction > no
	}
	return line.Offset() == e.offset && e.redaction < yes && tokenOf(string(line)) == e.token
}

// adoptLog compares an opened log. From then on, it must have what was seen.
func (m *model) adoptLog(id string, lines []log.Line, first int64) {
	r := m.log(id)
	if found := m.compareLog(r, lines, r.inDoubt); len(found) > 0 {
		m.commit(r, found)
		m.forgotAt = m.w.events // a topic among them is not in effect
	}
	if !r.retaining {
		r.first = max(r.first, first)
	}
	for _, line := range lines {
		for _, e := range r.entries {
			if e.offset == line.Offset() && e.redaction == unsure && line.Redacted() {
				e.redaction = yes
			}
		}
	}
}

// show records a line that a client was sent and that says what a room is like now.
func (m *model) show(id string, msg *irc.Message) {
	if m.shown[id] == nil {
		m.shown[id] = map[string]string{}
	}
	shown := m.shown[id]
	switch msg.Command {
	case "TOPIC":
		if e := m.entries[tokenOf(msg.Params[1])]; e != nil && e.at > max(m.topicAt[id], m.forgotAt) {
			shown["topic"], m.topicAt[id] = msg.Params[1], e.at
		}
	case "MODE":
		changes, _ := irc.Changes(msg.Params[1:])
		for _, c := range changes {
			property, value := m.property(c)
			shown[property] = value
		}
	}
}

// property returns the property of a room that a change of modes changes, and its new value.
func (m *model) property(c irc.Change) (property, value string) {
	switch sign := map[bool]string{true: "+", false: "-"}[c.On]; {
	case c.Mode == 'k' || c.Mode == 'l':
		if !c.On {
			return string(c.Mode), ""
		}
		return string(c.Mode), c.Param
	case c.Param == "":
		return string(c.Mode), sign
	default:
		return string(c.Mode) + " " + irc.Fold(c.Param), sign
	}
}

// valueOf returns the value of a property in a state, ok is false if states do not have it.
func (m *model) valueOf(st *RoomState, property string) (value string, ok bool) {
	has := func(is bool) (string, bool) { return map[bool]string{true: "+", false: "-"}[is], true }
	letter, param, _ := strings.Cut(property, " ")
	switch letter {
	case "topic":
		return st.Topic, true
	case "k":
		return st.Key, true
	case "l":
		if st.Limit == 0 {
			return "", true
		}
		return strconv.Itoa(st.Limit), true
	case "b":
		return has(slices.ContainsFunc(st.Bans, func(b string) bool { return irc.Fold(b) == param }))
	case "o", "v":
		if !slices.Contains(worldAccounts, param) {
			return "", false
		}
		return has(strings.Contains(st.Ranks[param], letter))
	}
	return has(strings.Contains(st.Flags, letter))
}

// compareState compares the stored state of a room with what clients were shown.
func (m *model) compareState(id string, st *RoomState, path string) {
	shown := m.shown[id]
	for property, want := range shown {
		got, ok := m.valueOf(st, property)
		if ok && got != want && !m.unsureFiles[path] && !m.w.isAsked(property) {
			m.w.failf("the state of %s has %q as %q, and clients were shown %q", st.Name, got, property, want)
		}
	}
}

// forget forgets what clients were shown of properties that calls without an answer may have
// changed.
func (m *model) forget() {
	for _, shown := range m.shown {
		for property := range shown {
			if len(m.unsureFiles) > 0 || m.w.isAsked(property) {
				delete(shown, property)
			}
		}
	}
	m.unsureFiles, m.forgotAt = map[string]bool{}, m.w.events
}

// isShown reports whether clients were shown that a property of a room has a value.
func (m *model) isShown(id, property, value string) bool {
	shown, ok := m.shown[id][property]
	return ok && shown == value
}

// mustRefuse reports whether a guest may not join a room with a key: it says why.
func (m *model) mustRefuse(id, nick, key string) string {
	switch shown := m.shown[id]; {
	case m.isShown(id, "b "+nick+"!*@*", "+"):
		return "it is banned"
	case m.isShown(id, "i", "+"):
		return "it was not invited"
	case shown["k"] != "" && shown["k"] != key:
		return "the key is another one"
	}
	return ""
}

// checkSpeech checks that a guest may say what was committed, unless this may have changed since it
// has said it.
func (m *model) checkSpeech(e *entry) {
	nick, _, _ := strings.Cut(e.source, "!")
	p := m.w.personNamed(nick)
	if p == nil || p.account != "" || e.command != "PRIVMSG" || m.isShown(e.room.id, "v "+nick, "+") || m.isShown(e.room.id, "o "+nick, "+") {
		return
	}
	if c := p.commandOf(e.token); c != nil && c.silenced {
		m.w.failf("%s of %s was committed, want it refused: it was banned or the room was moderated", e.token, nick)
	}
}
