package core

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/xdg-go/scram"

	"weir/chat/account"
	"weir/chat/log"
)

func TestScramAcceptsOnlyTheRightPassword(t *testing.T) {
	inAnyOrder(t, func(t *testing.T, s *server) {
		s.account("alice", "correct-horse", account.Member)
		c := s.client("alice")
		c.send("CAP REQ sasl", "NICK alice", "USER a 0 * :A")
		c.until("ACK")
		if said := c.scram(t, "alice@phone", "wrong-horse"); !strings.Contains(said, " 904 ") {
			t.Errorf("SCRAM with a wrong password: got %q, want 904", said)
		}
		if said := c.scram(t, "alice@phone", "correct-horse"); !strings.Contains(said, " 900 ") {
			t.Errorf("SCRAM with the right password: got %q, want 900", said)
		}
		c.until(" 903 ")
		c.send("CAP END")
		c.until(" 221 alice")
	})
}

// scram performs the client's side of SCRAM-SHA-256 and returns the numeric that ends it.
func (c *client) scram(t *testing.T, login, password string) string {
	side, err := scram.SHA256.NewClient(login, password, "")
	if err != nil {
		t.Fatal(err)
	}
	talk := side.NewConversation()
	c.send("AUTHENTICATE SCRAM-SHA-256")
	for {
		line, ok := c.line()
		if !ok || !strings.HasPrefix(line, "AUTHENTICATE ") {
			return line
		}
		challenge, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(strings.TrimPrefix(line, "AUTHENTICATE "), "+"))
		answer, err := talk.Step(string(challenge))
		if err != nil {
			t.Fatal(err)
		}
		if text := base64.StdEncoding.EncodeToString([]byte(answer)); text != "" {
			c.send("AUTHENTICATE " + text)
		} else {
			c.send("AUTHENTICATE +")
		}
	}
}

// Acknowledged means durable: when the PONG arrives, the files contain all messages sent before the
// PING.
func TestAPongMeansThatMessagesBeforeItAreStored(t *testing.T) {
	inAnyOrder(t, func(t *testing.T, s *server) {
		alice := s.user("alice")
		alice.send("JOIN #room")
		alice.until(" 366 ")
		for i := range 20 {
			alice.send("PRIVMSG #room :one", "PRIVMSG #room :two", "PING :stored?")
			alice.until("PONG")
			l, err := log.Open(s.dir+"/rooms/#room", log.Options{Disk: s.o.Disk, ReadOnly: true})
			if err != nil {
				t.Fatal(err)
			}
			if lines, err := l.After(0, 1000); err != nil || len(lines) != 2*(i+1) {
				t.Errorf("want %d messages in the log, got %d: %v", 2*(i+1), len(lines), err)
			}
			l.Close()
		}
	})
}
