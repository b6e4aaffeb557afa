package core

import (
	"strings"
	"testing"
)

// Other goroutines may write to a client before the output of its turn is written. So replies that
// precede a message, and those about members, are not left to that output.
func TestRepliesPrecedeWhatHappensLater(t *testing.T) {
	for _, lines := range []string{"NICK new\r\nPRIVMSG #r :x\r\n", "WHOIS old\r\nTOPIC #r :x\r\n", "NAMES #r\r\n", "WHO #r\r\n", "NICK new\r\n", "PART #r\r\n", "@label=a NICK new\r\n@label=b PRIVMSG #r,#nowhere :x\r\n"} {
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
			t.Errorf("%q: got %q sent, and %q left to be written after the call; want all sent", lines, c.out, r.Output)
		}
	}
}
