package core

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"weir/internal/disk"
)

// "A full or failing disk refuses messages with a clear reply and keeps serving reads."
func TestARefusedMessageIsAnsweredAndNotDelivered(t *testing.T) {
	inAnyOrder(t, func(t *testing.T, s *server) {
		alice, bob := s.user("alice", "echo-message", "labeled-response", "batch", "message-tags", "server-time"), s.user("bob")
		for _, c := range []*client{alice, bob} {
			c.send("JOIN #room")
			c.until(" 366 ")
		}
		alice.send("PRIVMSG #room :stored")
		alice.until(":stored")
		l := s.chat.rooms["#room"].log
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		alice.send("@label=x PRIVMSG #room :lost", "PING :and then?")
		if line := alice.until(" 404 "); line != "@label=x :weir.chat 404 alice #room :Your message was neither stored nor delivered: closed" {
			t.Errorf("PRIVMSG to a closed log: alice received %q, want 404 with its label and the reason", line)
		}
		alice.until("and then?")
		alice.send("CHATHISTORY LATEST #room * 10")
		alice.until("PRIVMSG #room :stored")
		for _, line := range bob.sync() {
			if strings.Contains(line, "lost") {
				t.Errorf("bob received %q, want nothing of the refused message", line)
			}
		}
		if n := s.chat.Counts().NotStored; n != 1 {
			t.Errorf("got %d messages counted as not stored, want 1", n)
		}
	})
}

// A client that is sent a topic finds it again, whenever the server dies.
func TestATopicIsStoredBeforeItIsSent(t *testing.T) {
	inAnyOrder(t, func(t *testing.T, s *server) {
		ann := s.user("ann")
		ann.send("JOIN #r")
		ann.until(" 366 ")
		for i := range 5 {
			topic := fmt.Sprintf("the topic number %d", i)
			ann.send("TOPIC #r :" + topic)
			ann.until("TOPIC #r :" + topic)
			state, err := disk.ReadFile(s.o.Disk, filepath.Join(s.dir, "rooms", "#r", "state"))
			if err != nil || !strings.Contains(string(state), topic) {
				t.Errorf("after topic %q was sent: got the state file %q and error %v, want the topic in it", topic, state, err)
			}
		}
	})
}

// A topic is written to the state file before the log. If the log refuses its line, the state file
// is reverted.
func TestATopicThatTheLogRefusesIsNotInTheState(t *testing.T) {
	inAnyOrder(t, func(t *testing.T, s *server) {
		ann, bob := s.user("ann"), s.user("bob")
		for _, c := range []*client{ann, bob} {
			c.send("JOIN #r")
			c.until(" 366 ")
		}
		ann.send("TOPIC #r :as it was", "MODE #r +k key")
		bob.until("+k key")
		before := s.stateFile("#r")
		var r *room
		s.chat.withLock(func() { r = s.chat.rooms["#r"] })
		if err := r.log.Close(); err != nil {
			t.Fatal(err)
		}
		ann.send("TOPIC #r :as it is not")
		if line := ann.until("FAIL"); !strings.Contains(line, "FAIL TOPIC TEMPORARILY_UNAVAILABLE #r :It was not stored") {
			t.Errorf("TOPIC that the log refuses: ann received %q, want that it was not stored", line)
		}
		if after := s.stateFile("#r"); after != before {
			t.Errorf("after the refused TOPIC: got the state file %q, want it as before: %q", after, before)
		}
		ann.send("TOPIC #r", "MODE #r +l 5")
		if line := ann.until(" 332 "); !strings.HasSuffix(line, ":as it was") {
			t.Errorf("after the refused TOPIC: got %q, want the former topic", line)
		}
		for _, line := range bob.sync() {
			if strings.Contains(line, "TOPIC") {
				t.Errorf("bob received %q, want nothing of a change that was not stored", line)
			}
		}
	})
}
