package core

import (
	"strconv"
	"strings"
	"testing"

	"weir/chat/account"
)

// A client without event-playback finds the messages behind many events, whatever its limit.
func TestHistoryFindsMessagesBehindManyEvents(t *testing.T) {
	s := startServer(t, Options{})
	s.account("ann", "correct horse", account.Member)
	s.run()
	ann := s.loggedIn("ann", "batch", "server-time", "draft/chathistory")
	ann.send("JOIN #room", "PRIVMSG #room :before")
	for i := range 100 {
		ann.send("TOPIC #room :" + strconv.Itoa(i))
	}
	ann.send("PRIVMSG #room :after")
	ann.sync()
	for _, c := range []struct{ request, want string }{
		{"LATEST #room * 2", "before"},
		{"AFTER #room timestamp=2001-01-01T00:00:00.000Z 2", "after"},
	} {
		ann.send("CHATHISTORY " + c.request)
		if lines := strings.Join(ann.sync(), "\n"); !strings.Contains(lines, ":"+c.want) {
			t.Errorf("CHATHISTORY %s behind 100 topics: got %q, want the message %q", c.request, lines, c.want)
		}
	}
}

// A history whose lines are read while its reader is removed from the room is refused.
func TestAHistoryThatIsReadDuringAKickIsRefused(t *testing.T) {
	for _, remove := range []string{"KICK #r bob", "PART #r"} { // by bob's other device
		s := startServer(t, Options{})
		s.account("ann", "correct horse", account.Member)
		s.account("bob", "correct horse", account.Member)
		s.run()
		ann, phone, bob := s.loggedIn("ann"), s.loggedIn("bob"), s.loggedIn("bob", "batch", "draft/chathistory")
		ann.send("JOIN #r", "PRIVMSG #r :secret")
		ann.sync()
		bob.send("JOIN #r")
		bob.sync()
		phone.sync()
		bob.send("CHATHISTORY LATEST #r * 10")
		s.chat.stepUntil(t, "the history is to be read", func() bool { return bob.session.task != nil && len(s.chat.begun) > 0 })
		reading := s.chat.begun // it takes a while
		s.chat.begun = nil
		map[string]*client{"KICK #r bob": ann, "PART #r": phone}[remove].send(remove)
		s.chat.untilIdle()
		s.chat.begun = reading
		if text := strings.Join(bob.sync(), "\n"); strings.Contains(text, "secret") || !strings.Contains(text, "FAIL CHATHISTORY INVALID_TARGET LATEST #r") {
			t.Errorf("%s while a history was read: got\n%s\nwant it refused, without a line of the room", remove, text)
		}
	}
}
