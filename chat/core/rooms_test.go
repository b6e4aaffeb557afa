package core

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"weir/chat/account"
)

// folders returns the names of the rooms that have a folder.
func (s *server) folders() (names []string) {
	s.t.Helper()
	entries, err := s.o.Disk.ReadDir(filepath.Join(s.dir, "rooms"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// guestFrom returns a guest at an address.
func (s *server) guestFrom(p Peer, nick string) *client {
	s.t.Helper()
	return s.clientFrom(nick, p).register()
}

func TestARefusedJoinLeavesNoFolder(t *testing.T) {
	s := startServer(t, Options{MaxRoomsPerUser: 3}).run()
	ann := s.user("ann")
	for i := range 10 {
		ann.send(fmt.Sprintf("JOIN #r%d", i))
	}
	ann.sync()
	if got := s.folders(); len(got) != 3 {
		t.Errorf("%q have a folder, want those of the three rooms that ann may be in", got)
	}
	s.halt()
	if got := s.folders(); len(got) != 0 {
		t.Errorf("%q are left after a stop, want none: nothing was said in them", got)
	}
}

// The client may disconnect, or be refused, once its room is open.
func TestARoomOpenedForAFailedJoinIsClosed(t *testing.T) {
	s := startServer(t, Options{}).run()
	err := s.chat.runTask(func(t *Task) error {
		r, err := s.chat.openRoomFor(t, "#r", "")
		if err == nil {
			(&Session{svc: &s.chat.Core, task: t}).finishJoin(r)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.folders(); len(got) != 0 {
		t.Errorf("%q are left after the join, want none", got)
	}
	s.chat.withLock(func() {
		if n := len(s.chat.rooms); n != 0 {
			t.Errorf("%d rooms are open after the join, want none", n)
		}
	})
}

func TestUnusedRoomsOfAKilledServerAreRemoved(t *testing.T) {
	s := startServer(t, Options{}).run()
	ann := s.user("ann")
	ann.send("JOIN #empty,#said,#set", "PRIVMSG #said :x", "MODE #set +k x")
	ann.sync()
	s.kill()
	s.run()
	if got := fmt.Sprint(s.folders()); got != "[#said #set]" {
		t.Errorf("after a start there are %s, want those in which something was said or set", got)
	}
}

func TestAnAccountCannotUseUpTheRooms(t *testing.T) {
	s := startServer(t, Options{MaxRoomsPerUser: 4, MaxRooms: 20})
	s.account("ann", "correct horse", account.Member)
	s.account("bob", "correct horse", account.Member)
	s.account("root", "correct horse", account.Operator)
	s.run()
	open := func(c *client) (opened int, lines string) {
		for i := range 8 { // a message keeps the room open for a while without members
			room := fmt.Sprintf("#%s%d", c.name, i)
			c.send("JOIN "+room, "PRIVMSG "+room+" :said", "PART "+room)
		}
		lines = strings.Join(c.sync(), "\n")
		return strings.Count(lines, " 366 "), lines
	}
	for name, want := range map[string]int{"ann": 4, "bob": 4, "root": 8} {
		c := s.loggedIn(name)
		if got, lines := open(c); got != want || want < 8 && !strings.Contains(lines, "No such channel: your account has reached its limit of open rooms") {
			t.Errorf("%s has %d rooms opened, want %d and the reason: %s", name, got, want, lines)
		}
	}
	again := s.loggedIn("ann")
	again.send("JOIN #bob0")
	again.until(" 366 ") // an existing room
}

func TestGuestsOfOneAddressCannotUseUpTheRooms(t *testing.T) {
	s := startServer(t, Options{MaxRoomsPerUser: 4, MaxRooms: 20}).run()
	home := address(1)
	for i := range 8 {
		c := s.guestFrom(home, fmt.Sprint("guest", i))
		for k := range 4 {
			c.send(fmt.Sprintf("JOIN #r%d.%d", i, k))
		}
		lines := strings.Join(c.sync(), "\n")
		if got, want := strings.Count(lines, " 366 "), map[bool]int{true: 4}[i == 0]; got != want {
			t.Errorf("guest %d of the address has %d new rooms opened, want %d: %s", i, got, want, lines)
		}
		if i > 0 && !strings.Contains(lines, "403 guest"+fmt.Sprint(i)+" #r"+fmt.Sprint(i)+".0 :No such channel: guests from your address") {
			t.Errorf("guest %d received %q, want 403 with the reason", i, lines)
		}
	}
	again := s.guestFrom(home, "again")
	again.send("JOIN #r0.0")
	again.until(" 366 ") // an existing room
	other := s.guestFrom(address(2), "other")
	other.send("JOIN #other")
	other.until(" 366 ")
}
