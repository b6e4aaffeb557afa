package tui

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"weir/chat/client"
	"weir/chat/client/link"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var start = time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)

// screen is a model whose client is not connected to a link.
type screen struct {
	*Model
	t *testing.T
}

func newScreen(t *testing.T, width, height int) *screen {
	c := client.New(client.Config{Nick: "ann", Nonce: "n", Rooms: []string{"#garden"}})
	s := &screen{NewModel(Options{Client: c, Server: "chat.example:6697", Theme: "none", Zone: time.UTC, Now: func() time.Time { return start }}), t}
	s.Update(tea.WindowSizeMsg{Width: width, Height: height})
	return s
}

func (s *screen) says(lines ...string) { s.Update(link.Lines(lines)) }

func (s *screen) online() {
	s.client.Connected(start)
	s.says(":srv.x CAP * ACK :message-tags server-time batch echo-message draft/chathistory",
		":srv.x 001 ann :Welcome", ":srv.x 005 ann CASEMAPPING=ascii NETWORK=Village :are", ":srv.x 422 ann :No MOTD")
}

// message returns a stored message in #garden, id*47 minutes after the start.
func message(id int, from, text string) string {
	at := start.Add(time.Duration(id) * 47 * time.Minute)
	return fmt.Sprintf("time=%s;msgid=g-%03d :%s!u@h PRIVMSG #garden :%s", at.Format("2006-01-02T15:04:05.000Z"), id, from, text)
}

func (s *screen) history(target string, lines ...string) {
	s.says(":srv.x BATCH +h chathistory " + target)
	for _, l := range lines {
		s.says("@batch=h;" + l)
	}
	s.says(":srv.x BATCH -h")
}

// village is a screen with a room, members and messages.
func village(t *testing.T, width, height int) *screen {
	s := newScreen(t, width, height)
	s.online()
	s.says(":ann!u@h JOIN #garden", ":srv.x 332 ann #garden :Apples, beds and bees \x02\x1b[2J", ":srv.x 353 ann = #garden :@bob ann +cid dora",
		":srv.x 366 ann #garden :End")
	s.history("#garden", message(-3, "bob", "good night"), message(0, "bob", "ann: the apple trees need water, and the long hose is with cid; see https://example.org/hose."),
		message(1, "cid", "\x01ACTION brings it\x01"), message(2, "dora_with_a_long_name", "日本のりんごは美味しい"), message(3, "ann", "thank you"))
	s.history("#garden")
	s.says(":eve!u@h JOIN #garden", ":eve!u@h QUIT :\x1b]0;owned\x07", "@msgid=p-1;time=2026-11-21T12:00:00.000Z :bob!u@h PRIVMSG ann :psst")
	return s
}

func (s *screen) types(text string) {
	for _, r := range text {
		s.Update(tea.KeyPressMsg{Code: r, Text: string(r)})
	}
}

func (s *screen) press(keys ...rune) {
	for _, k := range keys {
		s.Update(tea.KeyPressMsg{Code: k})
	}
}

var sgr = regexp.MustCompile("\x1b\\[[0-9;]*m")

// text returns the screen without colours.
func (s *screen) text() string { return sgr.ReplaceAllString(s.View().Content, "") }

func (s *screen) golden(name string) {
	s.t.Helper()
	var b strings.Builder
	for line := range strings.SplitSeq(s.text(), "\n") {
		if w := width(line); w != s.Model.width {
			s.t.Errorf("a row has %d columns, want %d: %q", w, s.Model.width, line)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			s.t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || string(want) != b.String() {
		s.t.Errorf("%s (-update rewrites it): got error %v and the screen\n%s\nwant\n%s", name, err, b.String(), want)
	}
	if bad := unsafeText(s.View().Content); bad != "" {
		s.t.Errorf("got %q on the terminal, want no control characters of a message", bad)
	}
}

func TestScreensMatchGoldenFiles(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {40, 12}} {
		name := fmt.Sprintf("%dx%d", size[0], size[1])
		s := village(t, size[0], size[1])
		s.types("bob: on my way")
		s.golden("room-" + name + ".txt")
		s.types("!")
		s.press(tea.KeyEnter)
		s.types("/help")
		s.press(tea.KeyEnter)
		s.golden("help-" + name + ".txt")
		s.press(tea.KeyEscape)
		s.Update(link.Down{Err: os.ErrDeadlineExceeded, Next: 8 * time.Second})
		s.golden("offline-" + name + ".txt")
	}
}

// Every line of the help can be read on every screen: PgDn shows those that do not fit.
func TestTheHelpShowsEveryCommandOnEveryScreen(t *testing.T) {
	for _, size := range [][2]int{{120, 40}, {80, 24}, {40, 12}, {40, 6}} {
		s := village(t, size[0], size[1])
		s.types("/help")
		s.press(tea.KeyEnter)
		seen := s.text()
		if !strings.Contains(seen, "/"+commands[0].name) {
			t.Errorf("%d x %d: the first page lacks the command /%s, want the start of the help:\n%s", size[0], size[1], commands[0].name, seen)
		}
		for range 40 {
			s.press(tea.KeyPgDown)
			seen += s.text()
		}
		for _, want := range commands {
			if !strings.Contains(seen, "/"+want.name) {
				t.Errorf("%d x %d: got no /%s on any page of the help, want every command", size[0], size[1], want.name)
			}
		}
		for range 40 {
			s.press(tea.KeyPgUp)
		}
		if top := s.text(); !strings.Contains(top, "/"+commands[0].name) {
			t.Errorf("%d x %d: PgUp does not return to the start of the help:\n%s", size[0], size[1], top)
		}
	}
}

func TestThemesColourMentionsLinksAndTheCurrentRoom(t *testing.T) {
	for _, theme := range themes {
		s := village(t, 80, 24)
		s.theme = theme
		content := s.View().Content
		for _, want := range []string{string(theme.mention) + "mann", string(theme.link) + "mhttps://example.org/hose\x1b[m", string(theme.current) + "m #garden"} {
			if !strings.Contains(content, want) {
				t.Errorf("theme %s: the screen does not contain %q", theme.Name, want)
			}
		}
		if theme.Name == "none" && strings.Contains(content, "38;") {
			t.Error("theme none: got a colour on the screen, want none")
		}
	}
}

func TestScreenFitsAnySize(t *testing.T) {
	s := village(t, 80, 24)
	for w := 1; w < 130; w += 3 {
		for h := 1; h < 45; h += 4 {
			s.Update(tea.WindowSizeMsg{Width: w, Height: h})
			lines := strings.Split(s.text(), "\n")
			if len(lines) > h {
				t.Fatalf("window of %dx%d: got %d rows, want at most its height", w, h, len(lines))
			}
			for _, l := range lines {
				if width(l) > w {
					t.Fatalf("window of %dx%d: got a row of %d columns, want at most its width", w, h, width(l))
				}
			}
		}
	}
}

func TestScrollbackLoadsHistory(t *testing.T) {
	s := newScreen(t, 80, 24)
	s.online()
	s.says(":ann!u@h JOIN #garden")
	var lines []string
	for i := 100; i < 200; i++ {
		lines = append(lines, message(i, "bob", fmt.Sprint("message ", i)))
	}
	s.history("#garden", lines...)
	if !strings.Contains(s.text(), "message 199") {
		t.Fatalf("after the history: got the screen\n%s\nwant the newest message, 199, on it", s.text())
	}
	for range 20 {
		s.press(tea.KeyPgUp)
	}
	if v := s.current; !strings.Contains(s.text(), "message 100 ") || !v.Loading {
		t.Fatalf("at the top: got Loading %v, want true and the first message shown\n%s", v.Loading, s.text())
	}
	s.history("#garden", message(98, "bob", "message 98"), message(99, "bob", "message 99"))
	if strings.Contains(s.text(), "message 98 ") || !strings.Contains(s.text(), "message 100 ") {
		t.Errorf("older messages loaded: got the screen\n%s\nwant the same rows as before, from message 100 on", s.text())
	}
	s.says("@" + message(200, "bob", "message 200"))
	if strings.Contains(s.text(), "message 200") || !strings.Contains(s.text(), "1 new below") {
		t.Errorf("new message while scrolled up: got the screen\n%s\nwant the same rows and \"1 new below\"", s.text())
	}
	s.press(tea.KeyPgUp)
	if !strings.Contains(s.text(), "message 98 ") {
		t.Errorf("after Page Up: got the screen\n%s\nwant the loaded message 98 on it", s.text())
	}
	for range 30 {
		s.press(tea.KeyPgDown)
	}
	if !strings.Contains(s.text(), "message 200") || s.current.Unread != 0 {
		t.Errorf("at the end: got %d unread, want 0", s.current.Unread)
	}
}

func TestCommandsSendTheirLines(t *testing.T) {
	for _, c := range []struct{ typed, sent, note string }{
		{"/join #bees", "JOIN #bees\r\n", ""},
		{"/join bees key", "JOIN #bees key\r\n", ""},
		{"/join", "", "/join needs"},
		{"/part see you", "PART #garden :see you\r\n", ""},
		{"/nick anna", "NICK anna\r\n", ""},
		{"/nick", "", "/nick needs"},
		{"/topic bees", "TOPIC #garden bees\r\n", ""},
		{"/topic", "", "Apples, beds"},
		{"/me waves", "PRIVMSG #garden :\x01ACTION waves\x01\r\n", ""},
		{"/msg bob hi", "PRIVMSG bob :hi\r\n", ""},
		{"/msg", "", "/msg needs"},
		{"/whois bob", "WHOIS bob\r\n", ""},
		{"/names", "", "4 in #garden: @bob +cid ann dora"},
		{"//slash", "PRIVMSG #garden :/slash\r\n", ""},
		{"/nonsense", "", "unknown command /nonsense"},
		{"/search apple", "", "1 messages with “apple”"},
		{"/search zzz", "", "nothing"},
		{"/theme pink", "", "/theme is"},
		{"", "", ""},
	} {
		s := village(t, 80, 24)
		s.client.Output()
		s.input.set(c.typed)
		s.submit()
		got := regexp.MustCompile(`@\+weir/n=\S+ `).ReplaceAllString(string(s.client.Output()), "")
		if got != c.sent || !strings.Contains(strings.Join(s.notes, "\n"), c.note) {
			t.Errorf("%q: sent %q and noted %q, want %q and %q", c.typed, got, s.notes, c.sent, c.note)
		}
	}
}

func TestCompletionCyclesThroughCandidates(t *testing.T) {
	s := village(t, 80, 24)
	for _, c := range []struct {
		typed string
		tabs  int
		want  string
	}{{"/qu", 1, "/quit "}, {"bo", 1, "bob: "}, {"hi DO", 1, "hi dora "}, {"/n", 1, "/names "}, {"/n", 2, "/nick "}, {"/n", 3, "/names "}, {"#g", 1, "#garden "}, {"zz", 1, "zz"}} {
		s.input.set(c.typed)
		for range c.tabs {
			s.press(tea.KeyTab)
		}
		if got := s.input.String(); got != c.want {
			t.Errorf("%q and %d tabs: got %q, want %q", c.typed, c.tabs, got, c.want)
		}
	}
}

func TestEditorMovesByGraphemeClusters(t *testing.T) {
	s := newScreen(t, 80, 24)
	s.types("a日e\u0301b")
	for _, step := range []struct {
		key  string
		want string
	}{{"backspace", "a日e\u0301"}, {"backspace", "a日"}, {"left", "a日"}, {"backspace", "日"}, {"end", "日"}, {"ctrl+w", ""}} {
		s.input.key(step.key)
		if got := s.input.String(); got != step.want {
			t.Errorf("after %s: got %q, want %q", step.key, got, step.want)
		}
	}
	s.Update(tea.PasteMsg{Content: "two\nlines\x1b[2J"})
	if got := s.input.String(); got != "two lines�[2J" {
		t.Errorf("pasted text: got %q, want one clean line", got)
	}
	s.input.take()
	s.types("draft")
	s.press(tea.KeyUp)
	if got := s.input.String(); got != "two lines�[2J" {
		t.Errorf("after Up: got %q, want the previous line", got)
	}
	if s.press(tea.KeyDown); s.input.String() != "draft" {
		t.Errorf("after Down: got %q, want draft", s.input.String())
	}
}

// FuzzNetwork: for any input from a server, only our own colour sequences reach the terminal.
func FuzzNetwork(f *testing.F) {
	f.Add("@" + message(9, "\x1b[2Jbob", "\x1b]52;c;x\x07"))
	f.Add(":ann!u@h JOIN #\x1b[2J\n:bob!u@h PRIVMSG ann :\u202e\x9b2J\n:srv.x 433 ann \x1b[31m :no\n:srv.x 332 ann #garden :\x07\nERROR :\x1b[2J")
	f.Add(":srv.x CAP * ACK :draft/search\n@msgid=r;+draft/react=\x1b[2J;+draft/reply=g-000 :\x1b[2J!u@h TAGMSG #garden\n:srv.x BATCH +s search\n@batch=s :\x1b[2J!u@h PRIVMSG #\x07 :\x1b[2J\n:srv.x BATCH -s")
	f.Add(":srv.x 353 ann = #garden :@\x1b[2Jx\n:srv.x 366 ann #garden :x\n:ann!u@h NICK \x1b[31m\n:srv.x FAIL X Y :\x1b]0;x\x07\n:srv.x 005 ann NETWORK=\x1b[2J :x")
	f.Fuzz(func(t *testing.T, text string) {
		s := village(t, 120, 24)
		s.theme = Dark
		for l := range strings.SplitSeq(text, "\n") {
			s.says(l)
		}
		s.search = text
		v := s.View()
		if bad := unsafeText(v.Content); bad != "" {
			t.Fatalf("got %q on the terminal, want no control characters of a message", bad)
		}
		if strings.IndexFunc(v.WindowTitle, func(r rune) bool { return r < ' ' || r == 0x7f || 0x80 <= r && r < 0xa0 }) >= 0 {
			t.Fatalf("window title: got %q, want no control characters", v.WindowTitle)
		}
	})
}
