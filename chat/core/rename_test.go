package core

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"weir/chat/account"
)

// Messages sent while a room is renamed arrive once, in order, under the current name.
func TestARenameDuringMessagesLosesNothing(t *testing.T) {
	s := startServer(t, Options{})
	s.random = rand.New(rand.NewPCG(1, 1))
	s.account("root", "correct horse", account.Operator)
	s.run()
	root, talker, hearer := s.loggedIn("root"), s.user("talker"), s.user("hearer", "draft/channel-rename")
	for _, c := range []*client{root, talker, hearer} {
		c.send("JOIN #a")
		c.until(" 366 ")
	}
	const messages, renames = 300, 10
	for i := range messages {
		talker.send(fmt.Sprintf("PRIVMSG #a,#b :%d", i)) // one of them exists
	}
	names := []string{"#a", "#b"}
	for i := range renames {
		root.send("RENAME " + names[i%2] + " " + names[(i+1)%2])
		root.until(" JOIN " + names[(i+1)%2])
	}
	now := "#a"
	for next := 0; next < messages; {
		line, ok := hearer.line()
		if !ok {
			t.Fatal("the connection ended, want all messages")
		}
		words := strings.Fields(line)
		switch words[1] {
		case "RENAME":
			now = words[3]
		case "PRIVMSG":
			if want := fmt.Sprintf("%s :%d", now, next); strings.Join(words[2:], " ") != want {
				t.Fatalf("member during the renames: got %q, want %q", line, want)
			}
			next++
		}
	}
}

// A respelling that waited during a rename must not restore the old name.
func TestARespellingDuringARenameIsRefused(t *testing.T) {
	s := startServer(t, Options{})
	s.account("root", "correct horse", account.Operator)
	s.run()
	root, ann := s.loggedIn("root"), s.user("ann", "draft/channel-rename")
	ann.send("JOIN #a", "PRIVMSG #a :said")
	ann.sync()
	var r *room
	s.chat.withLock(func() {
		r = s.chat.rooms["#a"]
		r.renaming = true // as during a rename
	})
	ann.send("RENAME #a #A")
	s.chat.waitFor(func() bool { return len(r.pending) > 0 })
	root.send("RENAME #a #b")
	if line := ann.until("RENAME CANNOT_RENAME"); !strings.Contains(line, " #b #A ") {
		t.Errorf("RENAME to another spelling during a rename: ann received %q, want CANNOT_RENAME, as the room is called #b now", line)
	}
	s.chat.withLock(func() {
		if r.name != "#b" || s.chat.rooms["#b"] != r {
			t.Errorf("after both renames: got a room called %s, want #b", r.name)
		}
	})
	if state := s.stateFile("#b"); !strings.Contains(state, "CREATED #b ") {
		t.Errorf("after both renames: got the state file %q, want that of #b", state)
	}
}

// A server may die after it renames the folder and before it writes the state file. Then it
// continues under the new name, with the same settings.
func TestAStateFileWithTheOldNameIsRead(t *testing.T) {
	s := startServer(t, Options{}).run()
	alice := s.user("alice")
	alice.send("JOIN #a", "TOPIC #a :this", "PRIVMSG #a :one", "PING x")
	alice.until("PONG")
	s.halt()
	if err := s.o.Disk.Rename(filepath.Join(s.dir, "rooms/#a"), filepath.Join(s.dir, "rooms/#b")); err != nil {
		t.Fatal(err)
	}
	s.run()
	bob := s.user("bob")
	bob.send("JOIN #b")
	bob.until(" 332 bob #b :this")
	bob.until("] one")
}

// A copy has no links; the old name redirects again once the room was opened.
func TestAFormerNameRedirectsToARestoredRoom(t *testing.T) {
	s := startServer(t, Options{}).run()
	alice := s.user("alice")
	alice.send("JOIN #a", "RENAME #a #b", "PRIVMSG #b :one", "PING x")
	alice.until("PONG")
	s.halt()
	if err := s.o.Disk.Remove(filepath.Join(s.dir, "rooms/#a")); err != nil {
		t.Fatal(err)
	}
	s.run()
	bob := s.user("bob")
	bob.send("JOIN #b", "JOIN #a", "PART #b", "JOIN #a")
	bob.until(" 470 bob #a #b ")
	bob.until(" 470 bob #a #b ")
	bob.until(" 366 bob #b ")
}
