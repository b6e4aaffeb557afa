package core

import (
	"strings"
	"testing"

	"weir/chat/account"
)

// A session that resumes while a room of its user is being renamed receives the JOIN of one name.
func TestAResumptionDuringARenameJoinsOneName(t *testing.T) {
	s := startServer(t, Options{})
	s.account("ann", "correct horse", account.Member)
	s.run()
	first := s.loggedIn("ann")
	first.send("JOIN #old", "PRIVMSG #old :hello")
	first.sync()
	first.send("RENAME #old #new")
	first.step()
	renaming := s.chat.begun[0] // its job takes a while
	s.chat.begun = s.chat.begun[1:]
	second := s.client("ann")
	second.send("PASS :ann@phone:correct horse", "NICK ann", "USER ann 0 * :ann")
	for s.chat.step() && !second.isCatchingUp("#old") {
	}
	resuming := s.chat.begun
	s.chat.begun = []*Task{renaming}
	s.chat.untilIdle()
	s.chat.begun = resuming
	lines := second.sync()
	if !believesToBeIn(lines, "ann", "#new") || believesToBeIn(lines, "ann", "#old") {
		t.Errorf("a session that resumed during a rename: got\n%s\nwant it in #new only", strings.Join(lines, "\n"))
	}
}
