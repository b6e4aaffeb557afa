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
