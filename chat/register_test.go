package chat

import (
	"strings"
	"testing"
	"time"

	"weir/chat/account"
	"weir/serve"
)

// occupyWorkers keeps all workers busy until release is called. Their jobs belong to sessions
// without a client: their connection, a line, only records what is sent.
func (s *server) occupyWorkers() (release func()) {
	released := make(chan struct{}) // no values; closed by release
	for range workerCount {
		s.chat.withLock(func() {
			s.chat.StartTask(OrdinaryJobs, func(t *Task) { t.await(func() { <-released }) }, func(error) {})
		})
	}
	return func() { close(released) }
}

// Another user may take the nick while the password of the new account is hashed.
func TestRegisterDoesNotTakeANickInUse(t *testing.T) {
	s := startServer(t, serve.Goroutine, Options{Registration: account.RegistrationOpen}).run()
	mallory := s.user("mallory")
	release := s.occupyWorkers()
	mallory.send("REGISTER bob * correct-horse")
	waitFor(t, func() bool {
		s.chat.mu.Lock()
		defer s.chat.mu.Unlock()
		return len(s.chat.tasks) > workerCount
	})
	bob := s.user("bob")
	release()
	mallory.until("REGISTER SUCCESS bob")
	mallory.sync()
	s.chat.withLock(func() {
		if u := s.chat.findUser("bob"); u == nil || u.account != "" || s.chat.findUser("mallory") == nil {
			t.Errorf("got user %+v as bob, want the guest, and mallory under its nick", u)
		}
	})
	mallory.send("PRIVMSG bob :are you there?")
	bob.until("are you there?")
}

// Each room is matched against all conditions of a LIST, so a long list would cost much CPU.
func TestTheNumberOfConditionsOfAListIsLimited(t *testing.T) {
	conditions := parseList(strings.Repeat("!#x,", 120), time.Now())
	if len(conditions) > maxListWords {
		t.Errorf("got %d conditions, want at most %d", len(conditions), maxListWords)
	}
}

// A client may spell a message's id in another way, such as 12-005 for 12-5. The redaction is sent
// to the members with the id as it is stored, since they know the message by that one.
func TestARedactionNamesTheStoredID(t *testing.T) {
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
		t.Errorf("REDACT sent to the members: got %q, want the id as stored, %s", line, id)
	}
}
