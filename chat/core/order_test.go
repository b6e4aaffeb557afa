package core

import (
	"strings"
	"testing"
)

// A delivery runs on another goroutine, and may write before the turn of the sender's session is
// over. So replies that precede a message are not left to the output of the turn.
func TestRepliesPrecedeTheEchoOfALaterMessage(t *testing.T) {
	for _, lines := range []string{"NICK new\r\nPRIVMSG #r :x\r\n", "WHOIS old\r\nTOPIC #r :x\r\n", "@label=a NICK new\r\n@label=b PRIVMSG #r,#nowhere :x\r\n"} {
		s := startServer(t, Options{}).run()
		c := s.user("old", "echo-message", "labeled-response", "batch")
		c.send("JOIN #r")
		c.sync()
		var r Turn
		s.chat.withLock(func() {
			if err := c.session.Input([]byte(lines), &r); err != nil {
				t.Error(err)
			}
		})
		if len(r.Output) > 0 || !strings.Contains(string(c.out), "old") {
			t.Errorf("%q: got %q sent, and %q left to be written after the delivery; want all sent", lines, c.out, r.Output)
		}
	}
}
