package tui

import (
	"fmt"
	"math"
	"time"

	tea "charm.land/bubbletea/v2"

	"weir/chat/client"
	"weir/chat/client/link"
)

// Options are the parameters of NewModel.
type Options struct {
	Client *client.Client
	Server string           // the server's address, for display
	Theme  string           // "auto", "dark", "light" or "none"; "" is auto
	Zone   *time.Location   // time zone of displayed times; default local
	Now    func() time.Time // the clock; default time.Now
	// Uploads a file in the background; an uploadResult follows. Nil disables uploads.
	Upload func(to, token, file string)
	Home   string // replaces ~ in /upload; "" leaves it
	// Stops the link when reconnecting is useless; default no-op.
	Stop func()
}

// Model is the state of the screen. Only bubbletea's goroutine may call its methods.
type Model struct {
	client  *client.Client
	options Options
	theme   Theme
	auto    bool // follow the terminal's background

	width, height int
	unfocused     bool // the terminal has lost the focus

	conn        *link.Conn // nil if not connected
	nextAttempt time.Time  // time of the next attempt to connect
	quitting    bool
	wasOnline   bool // the client was online at least once

	current      *client.Conversation // nil if there is none
	readUntil    time.Time            // read marker when current was shown; later messages are new
	anchor       anchor
	notes        []string
	notesOffset  int // rows of the notes above the first visible one
	search       string
	chosen       uint64               // Message.Seq in current; 0 if none
	goalID       string               // msgid of the search result that is being loaded; "" if none
	results      *resultList          // nil if no results are shown
	uploadFile   string               // file that is being uploaded, "" if none
	uploadTarget *client.Conversation // conversation in which the upload was started
	// Receives the next line, which is not echoed; nil for normal input.
	passwordInput func(string)
	input         editor
	completion    completion
}

// anchor is the bottom row of a scrolled conversation. The zero value means the end.
type anchor struct {
	seq    uint64 // Message.Seq
	hidden int    // rows of this message below the bottom
}

// tick is sent once a second.
type tick time.Time

// quitTimeout ends the program if the server has not closed the connection.
type quitTimeout struct{}

// NewModel returns the screen of a client.
func NewModel(o Options) *Model {
	if o.Zone == nil {
		o.Zone = time.Local
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Stop == nil {
		o.Stop = func() {}
	}
	m := &Model{client: o.Client, options: o, width: 80, height: 24, theme: Dark, auto: true}
	if theme, ok := themes[o.Theme]; ok {
		m.theme, m.auto = theme, false
	}
	m.applyChanges()
	return m
}

// Init implements tea.Model.
func (m *Model) Init() tea.Cmd {
	if m.auto {
		return tea.Batch(nextTick(), tea.RequestBackgroundColor)
	}
	return nextTick()
}

func nextTick() tea.Cmd { return tea.Tick(time.Second, func(t time.Time) tea.Msg { return tick(t) }) }

// Update implements tea.Model.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = max(1, msg.Width), max(1, msg.Height)
	case tea.BackgroundColorMsg:
		if m.auto && !msg.IsDark() {
			m.theme = Light
		}
	case tea.FocusMsg:
		m.unfocused = false
	case tea.BlurMsg:
		m.unfocused = true
	case tea.PasteMsg:
		m.input.insert(msg.Content)
	case tea.KeyPressMsg:
		m.key(msg)
	case tick:
		m.client.Tick(m.options.Now())
		cmd = nextTick()
	case uploadResult:
		m.finishUpload(msg)
	case quitTimeout:
		return m, tea.Quit
	default:
		m.handleSignal(msg)
	}
	m.applyChanges()
	switch {
	case m.quitting && m.conn == nil, m.neverOnline():
		cmd = tea.Quit
	case m.quitting:
		cmd = tea.Batch(cmd, tea.Tick(2*time.Second, func(time.Time) tea.Msg { return quitTimeout{} }))
	}
	return m, cmd
}

// neverOnline reports whether the client failed before it was ever online.
func (m *Model) neverOnline() bool { return m.client.State() == client.Failed && !m.wasOnline }

// handleSignal processes a signal of the link.
func (m *Model) handleSignal(msg any) {
	switch msg := msg.(type) {
	case link.Up:
		m.conn = msg.Conn
		m.client.Connected(m.options.Now())
	case link.Lines:
		for _, line := range msg {
			m.client.HandleLine(line, m.options.Now())
		}
	case link.Down:
		m.conn, m.nextAttempt = nil, m.options.Now().Add(msg.Next)
		m.cancelUpload(client.Event{Command: "FILEHOST"})
		m.client.Disconnected(msg.Err)
	}
}

// applyChanges processes events, sends the client's output and requests missing history.
func (m *Model) applyChanges() {
	for more := true; more; {
		more = false
		for _, e := range m.client.Events() {
			m.handleEvent(e)
			more = true
		}
	}
	if m.current == nil {
		if all := m.client.Conversations(); len(all) > 0 {
			m.show(all[0])
		}
	}
	if v := m.current; v != nil {
		if m.anchor == (anchor{}) && !m.unfocused && (v.Unread > 0 || !v.Room) {
			m.client.MarkRead(v)
		}
		m.loadGoal()
		if m.nearTop() {
			m.client.LoadOlder(v)
		}
	}
	if out := m.client.Output(); len(out) > 0 && m.conn != nil {
		m.conn.Send(out)
	}
	if m.client.MustClose() && m.conn != nil {
		m.conn.Close()
	}
	if m.client.State() == client.Failed {
		m.options.Stop()
	}
}

func (m *Model) handleEvent(e client.Event) {
	switch e.Kind {
	case client.StateChanged:
		if m.client.State() == client.Online {
			m.wasOnline = true
			if m.conn != nil {
				m.conn.MarkHealthy()
			}
		}
	case client.Opened:
		if e.Requested || m.current == nil {
			m.show(e.Conversation)
		}
	case client.Closed:
		if m.current == e.Conversation {
			m.current = nil
		}
	case client.NewMessage:
		if e.Conversation == m.current && m.unfocused && m.readUntil.IsZero() && !e.Message.Own {
			m.readUntil = e.Message.Time.Add(-time.Nanosecond)
		}
	case client.SearchResults:
		m.showResults(e.Results)
	case client.UploadToken:
		m.sendFile(e.Text)
	case client.CommandFailed, client.ServerText:
		m.cancelUpload(e)
		m.note(e.Text)
	}
}

// maxNotes is the maximum number of notes that are kept.
const maxNotes = 100

// note shows a note until the next input.
func (m *Model) note(text string) {
	m.notes = append(m.notes, Clean(text))
	m.notes = m.notes[max(0, len(m.notes)-maxNotes):]
	m.notesOffset = math.MaxInt // the last ones; noteRows limits it
}

// show makes v the current conversation.
func (m *Model) show(v *client.Conversation) {
	if v == m.current {
		return
	}
	m.current, m.anchor, m.search, m.readUntil = v, anchor{}, "", time.Time{}
	m.chosen, m.goalID, m.results = 0, "", nil
	if v.Unread > 0 {
		m.readUntil = v.ReadUntil
	}
}

func (m *Model) key(k tea.KeyPressMsg) {
	name := k.String()
	if m.results != nil && m.resultsKey(name) {
		return
	}
	switch name {
	case "enter":
		m.submit()
	case "tab":
		m.complete()
	case "esc":
		if m.notes, m.search, m.chosen, m.goalID = nil, "", 0, ""; m.passwordInput != nil {
			m.passwordInput = nil
			m.input.set("")
		}
		m.bottom()
	case "ctrl+c":
		m.quit("")
	case "pgup":
		if !m.scrollNotes(1 - m.maxNoteRows()) {
			m.scroll(m.bodyRows() / 2)
		}
	case "pgdown":
		if !m.scrollNotes(m.maxNoteRows() - 1) {
			m.scroll(-(m.bodyRows() / 2))
		}
	case "shift+up", "ctrl+up":
		m.scroll(1)
	case "shift+down", "ctrl+down":
		m.scroll(-1)
	case "ctrl+n", "alt+down":
		m.showNext(1)
	case "ctrl+p", "alt+up":
		m.showNext(-1)
	case "alt+a":
		m.showUnread()
	case "alt+m":
		m.showMention()
	case "alt+k":
		m.choose(-1)
	case "alt+j":
		m.choose(1)
	default:
		if len(name) == 5 && name[:4] == "alt+" && name[4] >= '1' && name[4] <= '9' {
			m.showNumber(int(name[4] - '1'))
			return
		}
		if !m.input.key(name) && k.Text != "" {
			m.input.insert(k.Text)
		}
	}
}

func (m *Model) showNumber(i int) {
	if all := m.client.Conversations(); i < len(all) {
		m.show(all[i])
	}
}

// showNext shows the next conversation (1) or the previous one (-1).
func (m *Model) showNext(by int) {
	all := m.client.Conversations()
	for i, v := range all {
		if v == m.current {
			m.show(all[(i+by+len(all))%len(all)])
			return
		}
	}
}

// showUnread shows an unread conversation, the one with the most mentions first.
func (m *Model) showUnread() {
	var best *client.Conversation
	for _, v := range m.client.Conversations() {
		if v.Unread > 0 && v != m.current && (best == nil || v.Mentions > best.Mentions) {
			best = v
		}
	}
	if best != nil {
		m.show(best)
	}
}

// quit sends QUIT and ends the program when the connection is closed, or after a timeout.
func (m *Model) quit(why string) {
	if m.quitting { // the second request closes the connection
		if m.conn != nil {
			m.conn.Close()
		}
		m.conn = nil
	}
	m.quitting = true
	m.client.Quit(why)
	m.options.Stop()
}

// statusText describes the state of the connection.
func (m *Model) statusText() string {
	why := m.client.Reason()
	switch m.client.State() {
	case client.Online:
		return "online"
	case client.Registering:
		return "logging in"
	case client.Failed:
		return "not connected: " + why
	}
	if m.nextAttempt.IsZero() {
		return "connecting to " + m.options.Server
	}
	text := "offline"
	if why != "" {
		text += ": " + why
	}
	if left := m.nextAttempt.Sub(m.options.Now()); left > time.Second {
		return fmt.Sprintf("%s; reconnecting in %d s", text, int(left.Seconds()))
	}
	return text + "; reconnecting"
}
