package tui

import (
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"weir/chat/client"
	"weir/chat/client/link"
)

// Options are what a Model is made with.
type Options struct {
	Client *client.Client
	Server string           // the address, as it is shown
	Theme  string           // "auto", "dark", "light" or "none"; "" is auto
	Zone   *time.Location   // of the times that are shown; default local
	Now    func() time.Time // the clock; default time.Now
	// has a file sent, and does not wait; an uploaded follows. Nil: there is no way
	Upload func(to, token, file string)
	Home   string // what ~ stands for in /upload; "" for itself
	// ends the link, when connecting again is of no use; default nothing
	Stop func()
}

// Model is the state of the screen. Its methods are called by one goroutine: bubbletea's.
type Model struct {
	client *client.Client
	o      Options
	theme  Theme
	auto   bool // the theme is to follow the terminal's background

	width, height int
	away          bool // the terminal is not looked at

	conn    *link.Conn // nil: none
	next    time.Time  // of the next attempt to connect
	leaving bool
	online  bool // was, once

	current   *client.Conversation // nil: none
	since     time.Time            // what is newer was not read when current was shown
	anchor    anchor
	notes     []string
	search    string
	chosen    uint64               // Seq of a message of current's; 0: none
	goal      string               // msgid of the message of current's that is gone to; "": none
	found     *found               // nil: none
	sending   string               // the file that is being sent, "" if none is
	sendingTo *client.Conversation // for which it was asked
	// takes the line that is typed, which is not shown; nil: there is none
	secret     func(string)
	input      editor
	completion completion
}

// anchor is the row at the bottom of a conversation that is scrolled. The zero value is its end.
type anchor struct {
	seq    uint64 // of its message
	hidden int    // rows of the message below it
}

// tick is the clock's, once a second.
type tick time.Time

// leave ends the program, whether the server closed the connection or not.
type leave struct{}

// NewModel is the screen of a client.
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
	m := &Model{client: o.Client, o: o, width: 80, height: 24, theme: Dark, auto: true}
	if theme, ok := themes[o.Theme]; ok {
		m.theme, m.auto = theme, false
	}
	m.settle()
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
		m.away = false
	case tea.BlurMsg:
		m.away = true
	case tea.PasteMsg:
		m.input.insert(msg.Content)
	case tea.KeyPressMsg:
		m.key(msg)
	case tick:
		m.client.Tick(m.o.Now())
		cmd = nextTick()
	case uploaded:
		m.sent(msg)
	case leave:
		return m, tea.Quit
	default:
		m.signal(msg)
	}
	m.settle()
	switch {
	case m.leaving && m.conn == nil, m.refused():
		cmd = tea.Quit
	case m.leaving:
		cmd = tea.Batch(cmd, tea.Tick(2*time.Second, func(time.Time) tea.Msg { return leave{} }))
	}
	return m, cmd
}

// refused says that the client never was of use, and will not be.
func (m *Model) refused() bool { return m.client.State() == client.Failed && !m.online }

// signal takes what the link says.
func (m *Model) signal(msg any) {
	switch msg := msg.(type) {
	case link.Up:
		m.conn = msg.Conn
		m.client.Connected(m.o.Now())
	case link.Lines:
		for _, line := range msg {
			m.client.HandleLine(line, m.o.Now())
		}
	case link.Down:
		m.conn, m.next = nil, m.o.Now().Add(msg.Next)
		m.refusedFile(client.Event{Command: "FILEHOST"})
		m.client.Disconnected(msg.Err)
	}
}

// settle does what follows from a change: it shows what happened, and sends what is to be sent.
func (m *Model) settle() {
	for more := true; more; {
		more = false
		for _, e := range m.client.Events() {
			m.happened(e)
			more = true
		}
	}
	if m.current == nil {
		if all := m.client.Conversations(); len(all) > 0 {
			m.show(all[0])
		}
	}
	if v := m.current; v != nil {
		if m.anchor == (anchor{}) && !m.away && (v.Unread > 0 || !v.Room) {
			m.client.MarkRead(v)
		}
		m.approach()
		if m.atTop() {
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
		m.o.Stop()
	}
}

func (m *Model) happened(e client.Event) {
	switch e.Kind {
	case client.StateChanged:
		if m.client.State() == client.Online {
			m.online = true
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
		if e.Conversation == m.current && m.away && m.since.IsZero() && !e.Message.Own {
			m.since = e.Message.Time.Add(-time.Nanosecond)
		}
	case client.SearchResults:
		m.results(e.Results)
	case client.UploadToken:
		m.token(e.Text)
	case client.CommandFailed, client.ServerText:
		m.refusedFile(e)
		m.note(e.Text)
	}
}

// maxNotes is how many notes are kept.
const maxNotes = 100

// note shows a line until the next thing is typed.
func (m *Model) note(text string) {
	m.notes = append(m.notes, Clean(text))
	m.notes = m.notes[max(0, len(m.notes)-maxNotes):]
}

// show makes a conversation the one on the screen.
func (m *Model) show(v *client.Conversation) {
	if v == m.current {
		return
	}
	m.current, m.anchor, m.search, m.since = v, anchor{}, "", time.Time{}
	m.chosen, m.goal, m.found = 0, "", nil
	if v.Unread > 0 {
		m.since = v.ReadUntil
	}
}

func (m *Model) key(k tea.KeyPressMsg) {
	name := k.String()
	if m.found != nil && m.foundKey(name) {
		return
	}
	switch name {
	case "enter":
		m.enter()
	case "tab":
		m.complete()
	case "esc":
		if m.notes, m.search, m.chosen, m.goal = nil, "", 0, ""; m.secret != nil {
			m.secret = nil
			m.input.set("")
		}
		m.bottom()
	case "ctrl+c":
		m.quit("")
	case "pgup":
		m.scroll(m.body() / 2)
	case "pgdown":
		m.scroll(-(m.body() / 2))
	case "shift+up", "ctrl+up":
		m.scroll(1)
	case "shift+down", "ctrl+down":
		m.scroll(-1)
	case "ctrl+n", "alt+down":
		m.step(1)
	case "ctrl+p", "alt+up":
		m.step(-1)
	case "alt+a":
		m.unread()
	case "alt+m":
		m.mention()
	case "alt+k":
		m.choose(-1)
	case "alt+j":
		m.choose(1)
	default:
		if len(name) == 5 && name[:4] == "alt+" && name[4] >= '1' && name[4] <= '9' {
			m.number(int(name[4] - '1'))
			return
		}
		if !m.input.key(name) && k.Text != "" {
			m.input.insert(k.Text)
		}
	}
}

func (m *Model) number(i int) {
	if all := m.client.Conversations(); i < len(all) {
		m.show(all[i])
	}
}

// step shows the next conversation, or the one before.
func (m *Model) step(by int) {
	all := m.client.Conversations()
	for i, v := range all {
		if v == m.current {
			m.show(all[(i+by+len(all))%len(all)])
			return
		}
	}
}

// unread shows the conversation that most wants to be read.
func (m *Model) unread() {
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

// quit says goodbye and ends, at the latest when the server has had its time.
func (m *Model) quit(why string) {
	if m.leaving { // asked for twice
		if m.conn != nil {
			m.conn.Close()
		}
		m.conn = nil
	}
	m.leaving = true
	m.client.Quit(why)
	m.o.Stop()
}

// state says how the connection is.
func (m *Model) state() string {
	why := m.client.Reason()
	switch m.client.State() {
	case client.Online:
		return "online"
	case client.Registering:
		return "logging in"
	case client.Failed:
		return "not connected: " + why
	}
	if m.next.IsZero() {
		return "connecting to " + m.o.Server
	}
	text := "offline"
	if why != "" {
		text += ": " + why
	}
	if left := m.next.Sub(m.o.Now()); left > time.Second {
		return fmt.Sprintf("%s; again in %d s", text, int(left.Seconds()))
	}
	return text + "; connecting again"
}
