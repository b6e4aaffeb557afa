package tui

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
)

func (s *screen) alt(key rune) { s.Update(tea.KeyPressMsg{Code: key, Mod: tea.ModAlt}) }

// output returns what the client would send.
func (s *screen) output() string { return string(s.client.Output()) }

// talk is a village in which a message has a reply and reactions.
func talk(t *testing.T, width, height int) *screen {
	s := village(t, width, height)
	s.says(":srv.x CAP * ACK :draft/message-redaction draft/search", "@+draft/reply=g-000;"+message(20, "cid", "it is behind the shed, as always"),
		"@msgid=r-1;+draft/react=👍;+draft/reply=g-020 :bob!u@h TAGMSG #garden", "@msgid=r-2;+draft/react=👍;+draft/reply=g-020 :ann!u@h TAGMSG #garden",
		"@msgid=r-3;+draft/react=\x1b[2J;+draft/reply=g-020 :eve!u@h TAGMSG #garden", ":bob!u@h REDACT #garden g-001")
	s.client.Output()
	return s
}

func TestRepliesReactionsAndRedactionsAreDrawn(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {40, 14}} {
		s := talk(t, size[0], size[1])
		s.alt('k')
		s.golden(fmt.Sprintf("talk-%dx%d.txt", size[0], size[1]))
	}
}

// A message is chosen, and the commands act on it.
func TestCommandsActOnTheChosenMessage(t *testing.T) {
	for _, c := range []struct {
		up    int
		typed string
		sent  string
	}{
		{0, "/react heart", "@+draft/react=❤️;+draft/reply=g-020 TAGMSG #garden\r\n"},
		{2, "/react 🐝", "@+draft/react=🐝;+draft/reply=g-003 TAGMSG #garden\r\n"},
		{1, "/react 👍", "REDACT #garden r-2\r\n"},
		{0, "/delete", "REDACT #garden g-003\r\n"},
		{3, "/delete", "REDACT #garden g-002\r\n"},
		{1, "/react", ""},
		{1, "/reply", ""},
	} {
		s := talk(t, 80, 24)
		for range c.up {
			s.alt('k')
		}
		s.input.set(c.typed)
		s.submit()
		got := s.output()
		if a, b, ok := strings.Cut(c.sent, ";"); ok && got == "@"+strings.TrimSuffix(strings.Fields(b)[0], " ")+";"+a[1:]+" TAGMSG #garden\r\n" {
			continue // the order of tags is not specified
		}
		if got != c.sent {
			t.Errorf("chosen %d up, %q: sent %q, want %q", c.up, c.typed, got, c.sent)
		}
	}
	s := talk(t, 80, 24)
	s.alt('k')
	s.alt('k')
	s.alt('j')
	s.input.set("/reply on my way")
	s.submit()
	if got := s.output(); !strings.Contains(got, "+draft/reply=g-020") || !strings.HasSuffix(got, "PRIVMSG #garden :on my way\r\n") {
		t.Errorf("/reply: sent %q, want a PRIVMSG with draft/reply", got)
	}
}

// The server's results are listed. One that is older than the loaded messages is loaded and shown.
func TestServerSearchOpensOldMessages(t *testing.T) {
	s := talk(t, 40, 14)
	s.client.Output()
	s.current.AtStart = false
	s.types("/search apple pie")
	s.press(tea.KeyEnter)
	s.says(":srv.x BATCH +s search", "@batch=s;"+message(-90, "bob", "an apple pie is an apple pie"), "@batch=s;"+message(-80, "cid", "no apple pie here"), ":srv.x BATCH -s")
	s.golden("found-40x14.txt")
	s.press(tea.KeyDown, tea.KeyDown, tea.KeyEnter)
	var old []string
	for i := -100; i < -3; i++ {
		old = append(old, message(i, "eve", fmt.Sprint("number ", i)))
	}
	old[10] = message(-90, "bob", "an apple pie is an apple pie")
	s.history("#garden", old...)
	if text := s.text(); !strings.Contains(text, "an apple pie is an apple ") || strings.Contains(text, "no apple pie here") || chosenID(s) != "g--90" {
		t.Errorf("opened search result: got %s chosen and the screen\n%s\nwant the old message g--90 shown and chosen", chosenID(s), text)
	}
	s.press(tea.KeyEscape)
	if !strings.Contains(s.text(), "as always") {
		t.Errorf("after Escape: got the screen\n%s\nwant its end, with the newest message", s.text())
	}
}

func chosenID(s *screen) string {
	if at := s.chosenIndex(); at >= 0 {
		return s.current.Messages[at].ID
	}
	return ""
}

func TestAltMShowsMentions(t *testing.T) {
	s := village(t, 80, 24)
	s.says(":ann!u@h JOIN #bees")
	s.history("#bees", strings.ReplaceAll(message(1, "bob", "hm"), "#garden", "#bees"))
	s.history("#bees")
	for i := range 50 {
		text := "buzz"
		if i == 7 {
			text = "ann: the bees!"
		}
		s.says("@" + strings.ReplaceAll(message(30+i, "bob", text), "#garden", "#bees"))
	}
	s.alt('m') // bob has sent her a direct message
	s.alt('m')
	if !strings.Contains(s.text(), "ann: the bees!") || s.current.Name != "#bees" {
		t.Errorf("after Alt-M: got %s, want the mention in #bees\n%s", s.current.Name, s.text())
	}
}

func TestPasswordIsNeitherShownNorInHistory(t *testing.T) {
	s := village(t, 80, 24)
	s.client.Output()
	s.types("/register CODE")
	s.press(tea.KeyEnter)
	s.types("secret words")
	if text := s.text(); strings.Contains(text, "secret") || !strings.Contains(text, "••••") {
		t.Errorf("while a password is typed: got the screen\n%s\nwant dots in place of its characters", text)
	}
	s.input.key("up")
	s.press(tea.KeyEscape)
	s.types("/register CODE")
	s.press(tea.KeyEnter)
	s.types("secret words")
	s.press(tea.KeyEnter)
	for s.press(tea.KeyUp); s.input.String() != ""; s.press(tea.KeyUp) {
		if before := s.input.String(); strings.Contains(before, "secret") {
			t.Fatalf("input history: got %q, want no line with the password", before)
		} else if s.press(tea.KeyUp); s.input.String() == before {
			break
		}
	}
}

// Every colour is legible on common terminal backgrounds (WCAG 2.2, section 1.4.3, AA).
func TestThemesAreLegible(t *testing.T) {
	for _, c := range []struct {
		theme   Theme
		grounds [][3]float64
	}{{Dark, [][3]float64{{0, 0, 0}, {30, 30, 30}}}, {Light, [][3]float64{{255, 255, 255}, {248, 248, 242}}}} {
		th := c.theme
		for _, s := range append([]style{th.bar, th.dim, th.own, th.mention, th.link, th.unread, th.current, th.trouble, th.found}, th.nicks...) {
			ink, own := colours(string(s))
			grounds := c.grounds
			if own != nil {
				grounds = [][3]float64{*own}
			}
			for _, g := range grounds {
				if r := contrast(*ink, g); r < 4.5 {
					t.Errorf("%s: %s has a contrast of %.2f on %v, want 4.5", th.Name, s, r, g)
				}
			}
		}
	}
}

// colours returns the foreground and background of a style; nil if it sets none.
func colours(s string) (ink, ground *[3]float64) {
	words := strings.Split(s, ";")
	for i := 0; i+2 < len(words); i++ {
		n, _ := strconv.Atoi(words[i+2])
		if words[i] == "38" && words[i+1] == "5" {
			c := xterm(n)
			ink = &c
		} else if words[i] == "48" && words[i+1] == "5" {
			c := xterm(n)
			ground = &c
		}
	}
	return ink, ground
}

// xterm returns the RGB values of a colour of the 256-colour palette: of its cube or its greys.
func xterm(n int) [3]float64 {
	if n >= 232 {
		v := float64(8 + 10*(n-232))
		return [3]float64{v, v, v}
	}
	level := func(i int) float64 { return [6]float64{0, 95, 135, 175, 215, 255}[i] }
	return [3]float64{level((n - 16) / 36), level((n - 16) / 6 % 6), level((n - 16) % 6)}
}

func contrast(a, b [3]float64) float64 {
	light := func(c [3]float64) (l float64) {
		for i, share := range [3]float64{.2126, .7152, .0722} {
			v := c[i] / 255
			if v <= .04045 {
				v /= 12.92
			} else {
				v = math.Pow((v+.055)/1.055, 2.4)
			}
			l += v * share
		}
		return l
	}
	high, low := max(light(a), light(b)), min(light(a), light(b))
	return (high + .05) / (low + .05)
}
