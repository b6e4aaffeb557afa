package core

import (
	"errors"
	"strings"
	"testing"

	"weir/chat/account"
	"weir/chat/environment"
	"weir/chat/log"
)

// unreadable is a log that cannot be read.
type unreadable struct{ environment.Log }

var errUnreadable = errors.New("a bad sector")

func (unreadable) Latest(int, int64) ([]log.Line, error) { return nil, errUnreadable }

// unopenable is a storage whose logs cannot be opened.
type unopenable struct{ environment.Storage }

func (unopenable) OpenLog(string) (environment.Log, error) { return nil, errUnreadable }

// A session that could not be sent what it missed is notified. The next session of its device is
// sent it, whatever the first one has received since, and also after a handover.
func TestWhatCouldNotBeReplayedIsReplayedLater(t *testing.T) {
	for _, handedOver := range []bool{false, true} {
		s := startServer(t, Options{})
		s.account("ann", "correct horse", account.Member)
		s.run()
		ann, bob := s.loggedIn("ann"), s.user("bob")
		for _, c := range []*client{ann, bob} {
			c.send("JOIN #r")
			c.until(" 366 ")
		}
		ann.send("QUIT :later")
		bob.until(" QUIT ")
		bob.send("PRIVMSG #r :what ann missed")
		bob.sync()
		r := s.chat.rooms["#r"]
		readable := r.log
		r.log = unreadable{readable}
		ann = s.loggedIn("ann")
		ann.send("JOIN #r")
		if line := ann.until("NOTICE"); !strings.Contains(line, "NOTICE ann :Messages of #r that you missed could not be read") {
			t.Errorf("a join of a room that cannot be read: ann received %q, want that messages are missing", line)
		}
		ann.until(" 366 ")
		r.log = readable
		if handedOver {
			s.handOver()
		}
		bob.send("PRIVMSG #r :what ann receives")
		ann.until("what ann receives")
		ann.send("QUIT :again")
		bob.until(" QUIT ")
		ann = s.loggedIn("ann")
		ann.send("JOIN #r")
		ann.until("what ann missed")
		s.halt()
	}
}

// The same holds for direct messages whose log cannot be opened when the session starts.
func TestDirectMessagesThatCouldNotBeOpenedAreReplayedLater(t *testing.T) {
	s := startServer(t, Options{})
	s.account("ann", "correct horse", account.Member)
	s.account("bob", "correct horse", account.Member)
	s.run()
	ann, bob := s.loggedIn("ann"), s.loggedIn("bob")
	bob.send("PRIVMSG ann :first")
	ann.until("first")
	ann.send("QUIT :later")
	ann.until("ERROR")
	bob.send("PRIVMSG ann :what ann missed")
	bob.sync()
	s.halt()
	s.run()
	openable := s.chat.env.Storage
	s.chat.env.Storage = unopenable{openable}
	ann = s.loggedIn("ann")
	ann.sync()
	s.chat.env.Storage = openable
	bob = s.loggedIn("bob")
	bob.send("PRIVMSG ann :what ann receives")
	ann.until("what ann receives")
	ann.send("QUIT :again")
	ann.until("ERROR")
	ann = s.loggedIn("ann")
	ann.until("what ann missed")
}
