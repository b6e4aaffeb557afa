package client

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// start is the time at which every test starts.
var start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// script is a conversation in virtual time: lines of the server and the lines that the client then
// sends.
type script struct {
	t   *testing.T
	c   *Client
	now time.Time
}

func newScript(t *testing.T, c Config) *script {
	if c.Nick == "" {
		c.Nick = "ann"
	}
	c.Nonce = "n"
	return &script{t: t, c: New(c), now: start}
}

// says passes lines of the server to the client.
func (s *script) says(lines ...string) {
	for _, line := range lines {
		s.c.HandleLine(line, s.now)
	}
}

// sends checks the lines that the client has sent since the last call.
func (s *script) sends(want ...string) {
	s.t.Helper()
	got := strings.Split(strings.TrimSuffix(string(s.c.Output()), "\r\n"), "\r\n")
	if len(got) == 1 && got[0] == "" {
		got = nil
	}
	if !slices.Equal(got, want) {
		s.t.Fatalf("the client sent\n  %q, want\n  %q", got, want)
	}
}

// texts checks the messages of a conversation.
func (s *script) texts(name string, want ...string) {
	s.t.Helper()
	v := s.c.Find(name)
	if v == nil {
		s.t.Fatalf("Find(%s): got nil, want a conversation", name)
	}
	var got []string
	for _, m := range v.Messages {
		got = append(got, m.From+": "+m.Text)
	}
	if !slices.Equal(got, want) {
		s.t.Fatalf("%s shows\n  %q, want\n  %q", name, got, want)
	}
}

const allCaps = "message-tags server-time batch echo-message draft/chathistory draft/read-marker sasl=PLAIN,SCRAM-SHA-256 draft/event-playback"

// online takes the client through its registration, without a login, and discards what it sent.
func (s *script) online() {
	s.t.Helper()
	s.c.Connected(s.now)
	s.says(":srv.x CAP * LS :"+allCaps, ":srv.x CAP * ACK :message-tags server-time batch echo-message draft/chathistory draft/event-playback",
		":srv.x 001 ann :Welcome", ":srv.x 005 ann CASEMAPPING=ascii NETWORK=Test :are supported", ":srv.x 422 ann :No MOTD")
	s.c.Output()
	s.c.Events()
	if s.c.State() != Online {
		s.t.Fatalf("state after registration: got %v (%s), want online", s.c.State(), s.c.Reason())
	}
}

// page returns a batch of history.
func page(target string, lines ...string) []string {
	all := []string{":srv.x BATCH +h chathistory " + target}
	for _, l := range lines {
		all = append(all, "@batch=h;"+l)
	}
	return append(all, ":srv.x BATCH -h")
}

// line returns a stored message for #g, n minutes after the start.
func line(n int, from, text string) string {
	at := start.Add(time.Duration(n) * time.Minute)
	return "time=" + formatTime(at) + ";msgid=g-" + string(rune('0'+n)) + " :" + from + "!u@h PRIVMSG #g :" + text
}

// inRoom takes the client into #g, whose history has one message.
func inRoom(t *testing.T) *script {
	t.Helper()
	s := newScript(t, Config{Rooms: []string{"#g"}})
	s.online()
	s.says(":ann!u@h JOIN #g")
	s.sends("CHATHISTORY LATEST #g * 100")
	s.says(page("#g", line(1, "bob", "one"))...)
	s.texts("#g", "bob: one")
	s.c.Events()
	return s
}

func TestRegistrationRequestsOfferedCapabilities(t *testing.T) {
	s := newScript(t, Config{Nick: "ann", RealName: "Ann A", Rooms: []string{"#g key"}})
	s.c.Connected(s.now)
	s.sends("CAP LS 302", "NICK ann", "USER ann 0 * :Ann A")
	s.says(":srv.x CAP * LS * :message-tags away-notify")
	s.sends()
	s.says(":srv.x CAP * LS :batch")
	s.sends("CAP REQ :message-tags batch")
	s.says(":srv.x CAP * ACK :message-tags batch")
	s.sends("CAP END")
	s.says(":srv.x 001 ann :Welcome")
	s.sends()
	s.says(":srv.x 376 ann :End of MOTD")
	s.sends("JOIN #g key")
}

func TestRefusedNicksAreExtended(t *testing.T) {
	s := newScript(t, Config{})
	s.c.Connected(s.now)
	s.c.Output()
	s.says(":srv.x 433 * ann :in use")
	s.sends("NICK ann_")
	for range maxNickAttempts {
		s.says(":srv.x 433 * ann_ :in use")
	}
	if s.c.State() != Failed || !s.c.MustClose() {
		t.Errorf("state after %[2]d refused nicks: got %[1]v, want failed", s.c.State(), maxNickAttempts+1)
	}
}

func TestSilentConnectionIsPingedAndThenClosed(t *testing.T) {
	s := newScript(t, Config{})
	s.online()
	s.c.Tick(start.Add(59 * time.Second))
	s.sends()
	s.c.Tick(start.Add(60 * time.Second))
	s.sends("PING 1795262460")
	s.c.Tick(start.Add(89 * time.Second))
	if s.c.MustClose() {
		t.Error("MustClose 29 s after the PING: got true, want false")
	}
	s.c.Tick(start.Add(90 * time.Second))
	if !s.c.MustClose() {
		t.Error("MustClose 30 s after the PING: got false, want true")
	}
}

func TestMissedMessagesPrecedeLiveOnes(t *testing.T) {
	s := inRoom(t)
	s.c.Disconnected(errors.New("gone"))
	s.online()
	s.says(":ann!u@h JOIN #g")
	s.sends("CHATHISTORY AFTER #g msgid=g-1 100")
	s.says("@"+line(4, "bob", "four"), "@"+line(5, "bob", "five")) // live, while the gap is open
	s.texts("#g", "bob: one")
	s.says(page("#g", line(2, "bob", "two"), line(3, "cid", "three"))...)
	s.sends("CHATHISTORY AFTER #g msgid=g-3 100")
	s.says(page("#g", line(4, "bob", "four"))...)
	s.sends("CHATHISTORY AFTER #g msgid=g-4 100")
	s.says(page("#g")...)
	s.sends()
	s.texts("#g", "bob: one", "bob: two", "cid: three", "bob: four", "bob: five")
}

func TestSecondDisconnectDuringCatchUpLosesNothing(t *testing.T) {
	s := inRoom(t)
	s.c.Disconnected(nil)
	s.online()
	s.says(":ann!u@h JOIN #g", "@"+line(4, "bob", "four"))
	s.c.Disconnected(nil)
	s.online()
	s.says(":ann!u@h JOIN #g")
	s.sends("CHATHISTORY AFTER #g msgid=g-1 100")
	s.says(page("#g", line(2, "bob", "two"), line(4, "bob", "four"))...)
	s.says(page("#g")...)
	s.texts("#g", "bob: one", "bob: two", "bob: four")
}

func TestUnechoedMessagesAreResentOnlyIfNotStored(t *testing.T) {
	s := inRoom(t)
	v := s.c.Find("#g")
	s.c.Send(v, TextMessage, "stored")
	s.c.Send(v, TextMessage, "lost")
	out := strings.Split(string(s.c.Output()), "\r\n")
	nonce := strings.TrimPrefix(strings.Fields(out[0])[0], "@")
	s.c.Disconnected(nil)
	s.c.Send(v, TextMessage, "later")
	s.online()
	s.says(":ann!u@h JOIN #g")
	s.c.Output()
	s.says(page("#g", nonce+";"+line(2, "ann", "stored"))...)
	s.sends("CHATHISTORY AFTER #g msgid=g-2 100")
	s.says(page("#g")...)
	again := string(s.c.Output())
	if strings.Contains(again, ":stored") || strings.Count(again, ":lost") != 1 || strings.Count(again, ":later") != 1 {
		t.Errorf("resent %q, want only the lost and the later message", again)
	}
	if got := v.Unsent(); !slices.Equal(got, []string{"lost", "later"}) {
		t.Errorf("unsent: got %q, want lost and later", got)
	}
}

// The messages of two devices of one user have different identifiers, also if one nonce is a prefix
// of the other: n with message 12 is not n1 with message 2.
func TestMessagesOfTwoDevicesHaveDifferentIdentifiers(t *testing.T) {
	sent := map[string]bool{}
	for _, nonce := range []string{"n", "n1"} {
		c := New(Config{Nick: "ann", Nonce: nonce, Rooms: []string{"#g"}})
		s := &script{t: t, c: c, now: start}
		s.online()
		s.says(":ann!u@h JOIN #g")
		s.says(page("#g")...)
		s.c.Output()
		for range 20 {
			c.Send(c.Find("#g"), TextMessage, "x")
		}
		for line := range strings.Lines(string(c.Output())) {
			id, _, _ := strings.Cut(line, " ")
			if sent[id] {
				t.Errorf("the device with the nonce %s sends %q again, want an identifier that no device has used", nonce, id)
			}
			sent[id] = true
		}
	}
}

// A guest whose connection broke gets another nick while the server has not noticed that. Its
// message was stored under the former nick, and is not sent again. A message of another user, who
// copies the tag, is no echo.
func TestMessagesStoredUnderAFormerNickAreNotResent(t *testing.T) {
	for _, c := range []struct {
		from   string
		resent bool
	}{{"ann", false}, {"bob", true}} {
		s := inRoom(t)
		v := s.c.Find("#g")
		s.c.Send(v, TextMessage, "stored")
		nonce := strings.TrimPrefix(strings.Fields(string(s.c.Output()))[0], "@")
		s.c.Disconnected(nil)
		s.online()
		s.says(":ann!u@h NICK ann_", ":ann_!u@h JOIN #g")
		s.c.Output()
		s.says(page("#g", nonce+";"+line(2, c.from, "stored"))...)
		s.says(page("#g")...)
		if got := strings.Contains(string(s.c.Output()), ":stored"); got != c.resent {
			t.Errorf("stored as of %s: got the message sent again: %v, want %v", c.from, got, c.resent)
		}
		if m := v.Messages[1]; m.Own == c.resent {
			t.Errorf("stored as of %s: got Own %v, want %v", c.from, m.Own, !c.resent)
		}
	}
}

// A read marker that was sent on a connection which broke may not have arrived: it is sent again,
// until the server confirms it.
func TestReadMarkersLostInFlightAreSentAgain(t *testing.T) {
	for _, c := range []struct {
		name     string
		says     []string // before the connection breaks
		sentNext bool
	}{
		{"no answer", nil, true},
		{"an older marker of another device", []string{":srv.x MARKREAD #g timestamp=2026-11-21T11:00:00.000Z"}, true},
		{"confirmed", []string{":srv.x MARKREAD #g timestamp=2026-11-21T12:00:01.000Z"}, false},
	} {
		s := newScript(t, Config{Account: "ann", Rooms: []string{"#g"}})
		online := func() {
			s.c.Connected(s.now)
			s.c.state, s.c.account = Online, "ann"
			s.c.grantedCaps["draft/read-marker"] = true
			s.says(":ann!u@h JOIN #g")
			s.c.Output()
			s.c.Tick(s.now)
		}
		online()
		s.says("@time=2026-11-21T12:00:01.000Z;msgid=g-1 :bob!u@h PRIVMSG #g :one")
		s.c.MarkRead(s.c.Find("#g"))
		s.c.Tick(s.now)
		s.sends("MARKREAD #g timestamp=2026-11-21T12:00:01.000Z")
		s.says(c.says...)
		s.c.Disconnected(nil)
		online()
		if got := strings.Contains(string(s.c.Output()), "MARKREAD #g timestamp=2026-11-21T12:00:01.000Z"); got != c.sentNext {
			t.Errorf("%s: got the marker sent again on the next connection: %v, want %v", c.name, got, c.sentNext)
		}
	}
}

func TestRemovedLastMessageMarksAGap(t *testing.T) {
	s := inRoom(t)
	s.c.Disconnected(nil)
	s.online()
	s.says(":ann!u@h JOIN #g", ":srv.x FAIL CHATHISTORY INVALID_MSGREFTYPE AFTER #g :No message here has this id")
	s.sends("CHATHISTORY AFTER #g msgid=g-1 100", "CHATHISTORY LATEST #g * 100")
	s.says(page("#g", line(7, "bob", "seven"))...)
	s.texts("#g", "bob: one", ": messages may be missing here", "bob: seven")
}

func TestOlderPagesArePrependedUntilTheStart(t *testing.T) {
	s := inRoom(t)
	v := s.c.Find("#g")
	s.c.LoadOlder(v)
	s.c.LoadOlder(v) // must not request it twice
	s.sends("CHATHISTORY BEFORE #g msgid=g-1 100")
	s.says(page("#g", line(0, "bob", "zero"))...)
	s.texts("#g", "bob: zero", "bob: one")
	s.c.LoadOlder(v)
	s.sends("CHATHISTORY BEFORE #g msgid=g-0 100")
	s.says(page("#g")...)
	if !v.AtStart {
		t.Error("AtStart after an empty page: got false, want true")
	}
	s.c.LoadOlder(v)
	s.sends()
}

func TestInputCannotInjectCommands(t *testing.T) {
	s := inRoom(t)
	v := s.c.Find("#g")
	s.c.SetTopic(v, "a\r\nQUIT")
	s.sends("TOPIC #g a")
	s.c.Part(v, "b\nQUIT")
	s.sends("PART #g b")
	s.c.Send(v, TextMessage, "c\r\nQUIT")
	s.sends("@+weir/n=n.2 PRIVMSG #g :c", "@+weir/n=n.3 PRIVMSG #g :QUIT")
	s.c.SetNick("d e")
	s.sends("NICK :d e")
	s.c.Join("#x\nQUIT", "")
	s.sends()
}

func TestMembersFollowJoinsAndLeaves(t *testing.T) {
	s := inRoom(t)
	s.says(":srv.x 353 ann = #g :bob @+cid ann", ":srv.x 366 ann #g :End", ":dan!u@h JOIN #g", ":bob!u@h NICK bea", ":cid!u@h QUIT :bye",
		":eve!u@h QUIT :was never here", ":cid!u@h KICK #g dan :enough")
	v := s.c.Find("#g")
	if want := []Member{{Nick: "ann"}, {Nick: "bea"}}; !slices.Equal(v.Members, want) {
		t.Errorf("members: got %v, want %v", v.Members, want)
	}
	s.texts("#g", "bob: one", "dan: joined", "bob: is now called bea", "cid: quit (bye)", "dan: was removed by cid (enough)")
}

func TestUnreadCountsOthersMessagesAfterTheReadMarker(t *testing.T) {
	s := inRoom(t)
	v := s.c.Find("#g")
	s.says("@"+line(2, "bob", "hello ann, all"), "@"+line(3, "bob", "annette"), "@"+line(4, "ann", "mine"))
	if v.Unread != 2 || v.Mentions != 1 {
		t.Errorf("got %d unread and %d mentions, want 2 and 1", v.Unread, v.Mentions)
	}
	s.says(":srv.x MARKREAD #g timestamp=" + formatTime(start.Add(2*time.Minute)))
	if v.Unread != 1 || v.Mentions != 0 {
		t.Errorf("after the read marker: got %d unread and %d mentions, want 1 and 0", v.Unread, v.Mentions)
	}
	s.c.MarkRead(v)
	if v.Unread != 0 {
		t.Errorf("after MarkRead: got %d unread, want 0", v.Unread)
	}
}

func TestDirectMessagesMakeConversations(t *testing.T) {
	s := inRoom(t)
	s.says("@msgid=d-1 :bob!u@h PRIVMSG ann :psst", ":bob!u@h PRIVMSG ann :\x01ACTION grins\x01", ":bob!u@h PRIVMSG ann :\x01VERSION\x01", ":srv.x NOTICE ann :from the server")
	s.texts("bob", "bob: psst", "bob: grins")
	s.c.Send(s.c.Find("bob"), TextMessage, "what?")
	s.sends("@+weir/n=n.5 PRIVMSG bob :what?")
	s.says("@+weir/n=n.5 :ann!u@h PRIVMSG bob :what?")
	s.texts("bob", "bob: psst", "bob: grins", "ann: what?")
	if left := s.c.Find("bob").Unsent(); left != nil {
		t.Errorf("unsent after the echo: got %q, want none", left)
	}
}

func TestRefusedMessagesAreNoLongerUnsent(t *testing.T) {
	s := inRoom(t)
	v := s.c.Find("#g")
	s.c.Send(v, TextMessage, "x")
	s.says(":srv.x 404 ann #g :Your message was not stored")
	if len(v.Unsent()) != 0 {
		t.Error("unsent after a refusal: got the message, want none")
	}
	if e := s.c.Events(); len(e) != 1 || e[0].Kind != CommandFailed {
		t.Errorf("events after a refusal: got %v, want one CommandFailed", e)
	}
}

func TestSplitTextFitsTheBytes(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", nil}, {"abc", []string{"abc"}}, {"abcdef ghi", []string{"abcdef", "ghi"}}, {"abcdefghijk", []string{"abcdefgh", "ijk"}},
		{"a\nb\r\n\nc", []string{"a", "b", "c"}}, {"ääääää", []string{"ääää", "ää"}}, {"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80", []string{"\x80\x80\x80\x80\x80\x80\x80\x80", "\x80\x80"}},
	} {
		if got := SplitText(c.text, 8); !slices.Equal(got, c.want) {
			t.Errorf("SplitText(%q): got %q, want %q", c.text, got, c.want)
		}
	}
}
