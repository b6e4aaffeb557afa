package core

import (
	"strings"
	"testing"

	"weir/chat/account"
)

// An operator that sets a key of an account while the account's metadata is being read keeps the
// other keys.
func TestAKeyThatIsSetDuringALoginKeepsTheOthers(t *testing.T) {
	s := startServer(t, Options{})
	s.account("ann", "correct horse", account.Member)
	s.account("root", "correct horse", account.Operator)
	s.run()
	first := s.loggedIn("ann", "draft/metadata-2")
	first.send("METADATA * SET colour :blue", "QUIT")
	s.chat.untilIdle()
	root := s.loggedIn("root", "draft/metadata-2")
	root.sync()
	guest := s.user("guest", "sasl")
	guest.send("AUTHENTICATE PLAIN", "AUTHENTICATE "+plain("ann", "correct horse"))
	s.chat.stepUntil(t, "the guest has become ann", func() bool { return s.chat.users["ann"] != nil })
	reading := s.chat.begun // a job takes a while
	s.chat.begun = nil
	root.send("METADATA ann SET mood :good")
	s.chat.untilIdle()
	s.chat.begun = reading
	s.chat.untilIdle()
	root.send("METADATA ann LIST")
	if lines := strings.Join(root.sync(), "\n"); !strings.Contains(lines, "colour * :blue") || !strings.Contains(lines, "mood * :good") {
		t.Errorf("a key was set while the metadata were read: got %q, want colour and mood", lines)
	}
}
