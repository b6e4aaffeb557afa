package chat

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// "A full or failing disk refuses messages with a clear reply and keeps serving reads."
func TestWhatTheLogRefusesIsAnsweredAndSeenByNobody(t *testing.T) {
	everyWay(t, func(t *testing.T, s *server) {
		alice, bob := s.user("alice", "echo-message", "labeled-response", "batch", "message-tags"), s.user("bob")
		for _, c := range []*client{alice, bob} {
			c.send("JOIN #room")
			c.until(" 366 ")
		}
		alice.send("PRIVMSG #room :stored")
		alice.until(":stored")
		s.chat.mu.Lock()
		l := s.chat.rooms["#room"].log
		s.chat.mu.Unlock()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		alice.send("@label=x PRIVMSG #room :lost", "PING :and then?")
		if line := alice.until(" 404 "); line != "@label=x :weir.chat 404 alice #room :Your message was not stored, and nobody saw it: closed" {
			t.Errorf("alice is told %q", line)
		}
		alice.until("and then?")
		alice.send("CHATHISTORY LATEST #room * 10")
		alice.until("PRIVMSG #room :stored")
		for _, line := range bob.settled() {
			if strings.Contains(line, "lost") {
				t.Errorf("bob is told %q", line)
			}
		}
		if n := s.chat.Counts().NotStored; n != 1 {
			t.Errorf("%d messages were counted as refused", n)
		}
	})
}

// Who is shown a topic finds it again, whenever the server dies.
func TestATopicIsOnTheDiskBeforeItIsShown(t *testing.T) {
	everyWay(t, func(t *testing.T, s *server) {
		ann := s.user("ann")
		ann.send("JOIN #r")
		ann.until(" 366 ")
		for i := range 5 {
			topic := fmt.Sprintf("the topic number %d", i)
			ann.send("TOPIC #r :" + topic)
			ann.until("TOPIC #r :" + topic)
			state, err := os.ReadFile(filepath.Join(s.dir, "rooms", "#r", "state"))
			if err != nil || !strings.Contains(string(state), topic) {
				t.Errorf("%q was shown, and the state is %q, %v", topic, state, err)
			}
		}
	})
}
