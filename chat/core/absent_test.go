package core

import (
	"strings"
	"testing"
)

// A client sends again what was not answered. So the sender of a message that was stored is
// answered, even if it is not in the room: it never was, or it was removed meanwhile.
func TestASenderOutsideTheRoomIsAnswered(t *testing.T) {
	for name, c := range map[string]struct {
		caps   string
		answer string
	}{
		"echo":           {"echo-message", ":bob!bob@"},
		"label":          {"labeled-response", "@label=x :weir.chat ACK"},
		"echo and label": {"echo-message labeled-response", "@label=x :bob!bob@"},
	} {
		t.Run(name, func(t *testing.T) {
			s := startServer(t, Options{}).run()
			ann, bob := s.user("ann"), s.user("bob", strings.Fields(c.caps)...)
			ann.send("JOIN #r", "MODE #r -n")
			ann.until("MODE #r -n")
			bob.send("@label=x PRIVMSG #r :from outside", "PING :1")
			if got, _ := bob.line(); !strings.HasPrefix(got, c.answer) {
				t.Errorf("a message from outside the room: got %q, want %q", got, c.answer)
			}
			bob.until("PONG")
			bob.send("JOIN #r")
			bob.until(" 366 ")
			s.chat.untilIdle()
			bob.out = nil
			bob.send("@label=x PRIVMSG #r :the last one", "PING :2")
			bob.step()
			ann.send("KICK #r bob")
			ann.step()
			bob.until("KICK")
			if got, _ := bob.line(); !strings.HasPrefix(got, c.answer) {
				t.Errorf("a message of a member that was removed: got %q, want %q", got, c.answer)
			}
		})
	}
}
