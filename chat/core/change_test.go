package core

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"weir/chat/account"
	"weir/chat/environment"
	"weir/internal/disk"
)

// A change is in the state file before any client is sent it, so that no crash of the server loses
// a change that a client has seen.
func TestAChangeOfARoomIsStoredBeforeItIsSent(t *testing.T) {
	inAnyOrder(t, func(t *testing.T, s *server) {
		s.account("ann", "correct horse", account.Member)
		s.account("bob", "correct horse", account.Member)
		ann, bob := s.loggedIn("ann", "draft/channel-rename"), s.loggedIn("bob")
		ann.send("JOIN #r")
		ann.until(" 366 ")
		if state := s.stateFile("#r"); !strings.Contains(state, "+o ann") {
			t.Errorf("after JOIN: got the state file %q, want the +o that ann was sent in it", state)
		}
		bob.send("JOIN #r")
		bob.until(" 366 ")
		for _, c := range []struct{ command, shown, stored string }{
			{"MODE #r +k secret", "MODE #r +k secret", "k secret"},
			{"MODE #r +b bad!*@*", "MODE #r +b bad!*@*", "+b bad!*@*"},
			{"MODE #r +s", "MODE #r +s", "MODE #r +nst"},
			{"MODE #r +l 17", "MODE #r +l 17", "17"},
			{"MODE #r +v bob", "MODE #r +v bob", "+v bob"},
			{"RENAME #r #R :larger", "RENAME #r #R", "CREATED #R"},
			{"MODE #r -k *", "MODE #R -k *", "MODE #R +nstl 17"},
			{"RENAME #r #Other :why", "RENAME #R #Other", "CREATED #Other"},
		} {
			ann.send(c.command)
			ann.until(c.shown)
			room := "#r"
			if strings.Contains(c.command, "Other") {
				room = "#other"
			}
			if state := s.stateFile(room); !strings.Contains(state, c.stored) {
				t.Errorf("after %q was sent: got the state file %q, want %q in it (a change is stored before it is sent)", c.command, state, c.stored)
			}
		}
	})
}

// While the state file cannot be replaced, each change is rejected. A labeled command is answered
// by FAIL with TEMPORARILY_UNAVAILABLE; a RENAME to another folder by its own code, CANNOT_RENAME.
func TestAChangeThatTheDiskRefusesLeavesNoTrace(t *testing.T) {
	inAnyOrder(t, func(t *testing.T, s *server) {
		ann, bob := s.user("ann", "labeled-response", "batch", "draft/channel-rename"), s.user("bob")
		for _, c := range []*client{ann, bob} {
			c.send("JOIN #r")
			c.until(" 366 ")
		}
		ann.send("TOPIC #r :as it was", "MODE #r +k old")
		bob.until("+k old")
		before := s.stateFile("#r")
		unblock := s.block("rooms/#r/state")
		for _, c := range []string{"MODE #r +k new", "MODE #r +b bad!*@*", "TOPIC #r :as it is not", "RENAME #r #R"} {
			command, _, _ := strings.Cut(c, " ")
			ann.send("@label=x " + c)
			if line := ann.until("@label=x"); !strings.HasPrefix(line, "@label=x :weir.chat FAIL "+command+" TEMPORARILY_UNAVAILABLE #r :It was not stored") {
				t.Errorf("%s on a disk that refuses it: ann received %q, want FAIL with TEMPORARILY_UNAVAILABLE", c, line)
			}
		}
		ann.send("RENAME #r #elsewhere")
		ann.until("FAIL RENAME CANNOT_RENAME #r #elsewhere")
		for _, line := range bob.sync() {
			t.Errorf("bob received %q, want nothing of a change that was not stored", line)
		}
		ann.send("MODE #r", "MODE #r +b", "TOPIC #r", "NAMES #r", "CHATHISTORY LATEST #r * 10", "PING end")
		for line := ann.next(); !strings.Contains(line, "PONG"); line = ann.next() {
			for _, not := range []string{"new", "bad!", "is not", "elsewhere"} {
				if strings.Contains(line, not) {
					t.Errorf("the room shows %q, want nothing of a change that was not stored", line)
				}
			}
		}
		unblock()
		if after := s.stateFile("#r"); after != before {
			t.Errorf("after the refused changes: got the state file %q, want it as before: %q", after, before)
		}
		if _, err := s.o.Disk.Lstat(filepath.Join(s.dir, "rooms", "#elsewhere")); err == nil {
			t.Error("the folder of the refused name exists, want none")
		}
		ann.send("MODE #r +k new")
		bob.until("+k new")
	})
}

// A room is dirty if its state file may contain a change that was refused. The periodic tasks write
// the file again by retryStates. An immediate retry would flood the log while the disk is
// full, and Freeze, which waits until nothing is being written, would never return.
func TestADirtyStateFileIsWrittenByPeriodicTasks(t *testing.T) {
	s := startServer(t, Options{}).run()
	ann := s.user("ann")
	ann.send("JOIN #r", "MODE #r +k key")
	ann.sync()
	unblock := s.block("rooms/#r/state")
	if err := s.o.Disk.Remove(filepath.Join(s.dir, "rooms/#r/state")); err != nil {
		t.Fatal(err)
	}
	s.chat.withLock(func() {
		s.chat.rooms["#r"].stateDirty = true // as after revertChanges failed to write the file
		s.chat.retryStates()
	})
	s.chat.withLock(s.chat.Freeze)
	s.chat.waitFor(func() bool { return !s.chat.HasUnfinishedTasks() })
	s.chat.withLock(s.chat.Thaw)
	unblock()
	s.chat.withLock(s.chat.retryStates)
	ann.send("MODE #r +l 5")
	ann.until("+l 5")
	if state := s.stateFile("#r"); !strings.Contains(state, "+ntkl key 5") {
		t.Errorf("once the file can be written again: got %q, want +ntkl key 5 in it", state)
	}
}

// failingSync is a storage whose fsync of folders fails: a file is replaced, and the error says
// that it is not.
type failingSync struct{ environment.Storage }

func (f failingSync) ReplaceFile(path string, contents []byte) error {
	if err := f.Storage.ReplaceFile(path, contents); err != nil {
		return err
	}
	return errors.New("the folder cannot be synced")
}

// If a state file was renamed into place and then the fsync of its folder failed, the change is
// refused, and yet the file contains it. Then the room is dirty, and its file is written again.
func TestARefusedChangeInTheStateFileIsReverted(t *testing.T) {
	s := startServer(t, Options{}).run()
	ann := s.user("ann")
	ann.send("JOIN #r", "MODE #r +k key", "PING x")
	ann.until("PONG")
	before := s.stateFile("#r")
	disk := s.chat.env.Storage
	s.chat.withLock(func() { s.chat.env.Storage = failingSync{disk} })
	ann.send("MODE #r -k key")
	ann.until("FAIL MODE TEMPORARILY_UNAVAILABLE #r")
	if after := s.stateFile("#r"); after == before {
		t.Fatalf("got the state file %q, want the refused change in it", after)
	}
	s.chat.withLock(func() {
		s.chat.env.Storage = disk
		s.chat.retryStates()
	})
	// until the commit task has written the file
	s.chat.waitFor(func() bool { return !s.chat.rooms["#r"].stateDirty && !s.chat.rooms["#r"].committing })
	if after := s.stateFile("#r"); after != before {
		t.Errorf("after the refused change: got the state file %q, want it as before: %q", after, before)
	}
}

func TestAReadMarkerIsStoredBeforeTheReply(t *testing.T) {
	inAnyOrder(t, func(t *testing.T, s *server) {
		s.account("ann", "correct horse", account.Member)
		ann, other := s.loggedIn("ann"), s.loggedIn("ann", "draft/read-marker")
		ann.send("JOIN #r", "PRIVMSG #r :hello", "PING said")
		ann.until("PONG")
		ann.send("MARKREAD #r timestamp=2100-01-01T00:00:00.000Z")
		ann.until("MARKREAD #r timestamp=")
		marks := filepath.Join(s.dir, "marks", "ann")
		before, err := disk.ReadFile(s.o.Disk, marks)
		if err != nil || !strings.Contains(string(before), " * ") {
			t.Errorf("after the reply to MARKREAD: got the file %q and error %v, want a line of the marker", before, err)
		}
		unblock := s.block("marks/ann")
		ann.send("PRIVMSG #r :more", "MARKREAD #r")
		marker := ann.until("MARKREAD #r timestamp=")
		other.sync()
		ann.send("MARKREAD #r timestamp=2100-01-01T00:00:00.000Z")
		if line := ann.until("MARKREAD"); !strings.HasPrefix(line, ":weir.chat FAIL MARKREAD INTERNAL_ERROR #r :The marker was not stored") {
			t.Errorf("MARKREAD on a disk that refuses it: ann received %q, want that it was not stored", line)
		}
		ann.send("MARKREAD #r")
		if line := ann.until("MARKREAD"); line != marker {
			t.Errorf("after the refused MARKREAD: got the marker %q, want the former one, %q", line, marker)
		}
		for _, line := range other.sync() {
			if strings.Contains(line, "MARKREAD") {
				t.Errorf("the other client received %q, want nothing of a marker that was not stored", line)
			}
		}
		unblock()
	})
}

// Changes of several clients are announced in the order in which they are stored: the last key that
// a member is sent is the one in the state file.
func TestConcurrentChangesAreStoredInTheOrderTheyAreAnnounced(t *testing.T) {
	inAnyOrder(t, func(t *testing.T, s *server) {
		ann := s.user("ann")
		ann.send("JOIN #r")
		ann.until(" 366 ")
		const n = 8
		var users []*client
		for i := range n {
			c := s.user(fmt.Sprintf("user%d", i))
			users = append(users, c)
			c.send("JOIN #r")
			c.until(" 366 ")
			ann.send(fmt.Sprintf("MODE #r +o user%d", i))
			c.until("MODE #r +o " + c.name)
		}
		for i, c := range users {
			for k := range 5 {
				c.send(fmt.Sprintf("MODE #r +k key%d.%d", i, k), fmt.Sprintf("MODE #r +b mask%d.%d!*@*", i, k), "PING done")
			}
		}
		for _, c := range users {
			for range 5 {
				c.until("done")
			}
		}
		ann.send("PING end")
		last, bans := "", 0
		for line := ann.next(); !strings.Contains(line, "PONG"); line = ann.next() {
			if _, key, ok := strings.Cut(line, "MODE #r +k "); ok {
				last = key
			}
			bans += strings.Count(line, "mask")
		}
		state := s.stateFile("#r")
		if !strings.Contains(state, "+ntk "+last) || strings.Count(state, "+b mask") != 5*n || bans != 5*n {
			t.Errorf("got state file %q and %d bans announced; want the last announced key %q and %d bans in both", state, bans, last, 5*n)
		}
	})
}
