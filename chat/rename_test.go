package chat

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"weir/chat/account"
	"weir/serve"
)

// What is said while a room is renamed is heard once, in order, under the name that it has then.
func TestARoomThatIsRenamedWhileItTalksLosesNothing(t *testing.T) {
	s := startServer(t, serve.Goroutine, Options{})
	s.account("root", "correct horse", account.Operator)
	s.run()
	root, talker, hearer := s.loggedIn("root"), s.user("talker"), s.user("hearer", "draft/channel-rename")
	for _, c := range []*client{root, talker, hearer} {
		c.send("JOIN #a")
		c.until(" 366 ")
	}
	const messages, renames = 300, 10
	var both sync.WaitGroup
	both.Go(func() {
		for i := range messages {
			talker.send(fmt.Sprintf("PRIVMSG #a,#b :%d", i)) // one of them is there
		}
	})
	both.Go(func() {
		names := []string{"#a", "#b"}
		for i := range renames {
			root.send("RENAME " + names[i%2] + " " + names[(i+1)%2])
			root.until(" JOIN " + names[(i+1)%2])
		}
	})
	now := "#a"
	for next := 0; next < messages; {
		line, ok := hearer.line()
		if !ok {
			t.Fatal("the connection ended")
		}
		words := strings.Fields(line)
		switch words[1] {
		case "RENAME":
			now = words[3]
		case "PRIVMSG":
			if want := fmt.Sprintf("%s :%d", now, next); strings.Join(words[2:], " ") != want {
				t.Fatalf("hearer is told %q, want %q", line, want)
			}
			next++
		}
	}
	both.Wait()
}

// A respelling that waited while the room was renamed must not bring the old name back.
func TestALetterIsNotChangedOfANameThatARoomHadBefore(t *testing.T) {
	s := startServer(t, serve.Goroutine, Options{})
	s.account("root", "correct horse", account.Operator)
	s.run()
	root, ann := s.loggedIn("root"), s.user("ann", "draft/channel-rename")
	ann.send("JOIN #a", "PRIVMSG #a :said")
	ann.settled()
	var r *room
	s.chat.locked(func() {
		r = s.chat.rooms["#a"]
		r.moving = true // as while it is renamed
	})
	ann.send("RENAME #a #A")
	for queued := false; !queued; {
		s.chat.locked(func() { queued = len(r.pending) > 0 })
	}
	root.send("RENAME #a #b")
	if line := ann.until("RENAME CANNOT_RENAME"); !strings.Contains(line, " #b #A ") {
		t.Errorf("ann is told %q, want that the name is another one", line)
	}
	s.chat.locked(func() {
		if r.name != "#b" || s.chat.rooms["#b"] != r {
			t.Errorf("the room is called %s, want #b", r.name)
		}
	})
	if state := s.stateFile("#b"); !strings.Contains(state, "CREATED #b ") {
		t.Errorf("its state is %q, want that of #b", state)
	}
}

// A server that dies between the rename of the folder and the writing of the state goes on under
// the new name, with what the room was.
func TestAStateOfTheOldNameIsTheRooms(t *testing.T) {
	s := startServer(t, serve.Goroutine, Options{}).run()
	alice := s.user("alice")
	alice.send("JOIN #a", "TOPIC #a :this", "PRIVMSG #a :one", "PING x")
	alice.until("PONG")
	s.halt()
	if err := os.Rename(filepath.Join(s.dir, "rooms/#a"), filepath.Join(s.dir, "rooms/#b")); err != nil {
		t.Fatal(err)
	}
	s.run()
	bob := s.user("bob")
	bob.send("JOIN #b")
	bob.until(" 332 bob #b :this")
	bob.until(" PRIVMSG #b :one")
}

// What is copied has no links; the old name leads to the room again once it was opened.
func TestAnOldNameLeadsToARestoredRoom(t *testing.T) {
	s := startServer(t, serve.Goroutine, Options{}).run()
	alice := s.user("alice")
	alice.send("JOIN #a", "RENAME #a #b", "PRIVMSG #b :one", "PING x")
	alice.until("PONG")
	s.halt()
	if err := os.Remove(filepath.Join(s.dir, "rooms/#a")); err != nil {
		t.Fatal(err)
	}
	s.run()
	bob := s.user("bob")
	bob.send("JOIN #b", "JOIN #a", "PART #b", "JOIN #a")
	bob.until(" 470 bob #a #b ")
	bob.until(" 470 bob #a #b ")
	bob.until(" 366 bob #b ")
}
