package core

import (
	"testing"

	"weir/chat/account"
)

// A client may be gone, or take nothing, when its session has caught up with a direct conversation.
// The session ends then. It does not try again, which would keep the whole core busy for ever.
func TestAResumptionEndsIfTheConnectionTakesNothing(t *testing.T) {
	s := startServer(t, Options{})
	for _, name := range []string{"ann", "bob"} {
		s.account(name, "correct horse", account.Member)
	}
	s.run()
	bob := s.loggedIn("bob")
	bob.send("PRIVMSG ann :hello")
	bob.sync()
	ann := s.client("ann")
	ann.send("CAP REQ :draft/chathistory sasl", "NICK ann", "USER ann 0 * :ann", "AUTHENTICATE PLAIN", "AUTHENTICATE "+plain("ann", "correct horse"), "CAP END")
	s.chat.stepUntil(t, "ann registers", func() bool { return ann.session.user != nil })
	ann.full = true
	s.chat.untilIdle()
	if !ann.ended {
		t.Error("the connection took nothing: got it open, want it closed")
	}
}
