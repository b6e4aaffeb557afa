package chat

import (
	"strings"
	"testing"
	"time"

	"weir/chat/account"
	"weir/serve"
)

// busyDesk keeps the desk busy until release is called.
func (s *server) busyDesk() (release func()) {
	over := make(chan struct{})
	for range deskWidth {
		x := newSession(s.chat, new(line), Peer{})
		x.job = func() { <-over }
		s.chat.locked(func() { s.chat.jobs++ })
		x.toDesk()
	}
	return func() { close(over) }
}

// While a password is hashed somebody may come who is called as the account will be.
func TestWhoRegistersDoesNotTakeTheNameOfWhoIsThere(t *testing.T) {
	s := startServer(t, serve.Goroutine, Options{Registration: account.ByAnybody}).run()
	mallory := s.user("mallory")
	release := s.busyDesk()
	mallory.send("REGISTER bob * correct-horse")
	waitFor(t, func() bool {
		s.chat.mu.Lock()
		defer s.chat.mu.Unlock()
		return s.chat.jobs > deskWidth
	})
	bob := s.user("bob")
	release()
	mallory.until("REGISTER SUCCESS bob")
	mallory.settled()
	s.chat.locked(func() {
		if u := s.chat.find("bob"); u == nil || u.account != "" || s.chat.find("mallory") == nil {
			t.Errorf("bob is %+v", u)
		}
	})
	mallory.send("PRIVMSG bob :are you there?")
	bob.until("are you there?")
}

func TestAListIsAskedForByAFewWords(t *testing.T) {
	asked := parseList(strings.Repeat("!#x,", 120), time.Now())
	if len(asked) > maxListWords {
		t.Errorf("each room is looked at by %d words", len(asked))
	}
}

// A message has one id, as it is stored: who takes it back by another way of writing it does so for
// all.
func TestARedactionNamesTheMessageAsAllKnowIt(t *testing.T) {
	s := startServer(t, serve.Goroutine, Options{}).run()
	s.account("alice", "correct-horse", account.Member)
	alice := s.client("alice")
	alice.send("CAP REQ :message-tags echo-message draft/message-redaction", "PASS alice:correct-horse", "NICK alice", "USER a 0 * :A", "CAP END", "JOIN #room")
	alice.until(" 366 ")
	alice.send("PRIVMSG #room :one", "PRIVMSG #room :two")
	alice.until(":one")
	_, id, _ := strings.Cut(alice.until(":two"), "msgid=")
	id, _, _ = strings.Cut(strings.Fields(id)[0], ";")
	alice.send("REDACT #room " + strings.Replace(id, "-", "-00", 1))
	if line := alice.until("REDACT"); !strings.HasSuffix(line, "REDACT #room "+id) {
		t.Errorf("others are told %q, want %s", line, id)
	}
}
