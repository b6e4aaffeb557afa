package core

import (
	"strings"
	"testing"

	"weir/chat/account"
)

// Another user may take the nick while the password of the new account is hashed.
func TestRegisterDoesNotTakeANickInUse(t *testing.T) {
	s := startServer(t, Options{Registration: account.RegistrationOpen}).run()
	mallory := s.user("mallory")
	mallory.send("REGISTER bob * correct-horse")
	s.chat.waitFor(func() bool { return len(s.chat.begun) == 1 })
	hashing := s.chat.begun
	s.chat.begun = nil // no worker is free
	bob := s.user("bob")
	s.chat.begun = hashing
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
	conditions := parseList(strings.Repeat("!#x,", 120), epoch)
	if len(conditions) > maxListWords {
		t.Errorf("got %d conditions, want at most %d", len(conditions), maxListWords)
	}
}

// A client may spell a message's id in another way, such as 12-005 for 12-5. The redaction is sent
// to the members with the id as it is stored, since they know the message by that one.
func TestARedactionNamesTheStoredID(t *testing.T) {
	s := startServer(t, Options{}).run()
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
