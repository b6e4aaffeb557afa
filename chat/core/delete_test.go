package core

import (
	"errors"
	"strings"
	"testing"

	"weir/internal/disk/simdisk"
)

// A former name redirects to the room. Deleting the redirection alone, and reporting success, would
// leave the text that the administrator wanted gone.
func TestARoomIsNotDeletedByAFormerName(t *testing.T) {
	s := startServer(t, Options{}).run()
	ann := s.user("ann")
	ann.send("JOIN #old")
	ann.until(" 366 ")
	ann.send("PRIVMSG #old :a secret", "RENAME #old #new")
	ann.until("JOIN #new")
	err := s.chat.runTask(func(task *Task) error { return s.chat.DeleteRoom(task, "#old") })
	if !errors.Is(err, ErrNoRoom) || !strings.Contains(err.Error(), "#new") {
		t.Errorf("deleting #old, which is called #new: got %v, want ErrNoRoom with the new name", err)
	}
	if err := s.chat.runTask(func(task *Task) error { return s.chat.DeleteRoom(task, "#new") }); err != nil {
		t.Errorf("deleting #new: got %v, want nil", err)
	}
}

// A deletion that the disk refuses leaves the room as it was, and not a part of it.
func TestARefusedDeletionLeavesTheRoom(t *testing.T) {
	s := startServer(t, Options{}).run()
	ann := s.user("ann")
	ann.send("JOIN #r", "PRIVMSG #r :hello")
	ann.sync()
	s.disk.SetFaults(simdisk.Faults{SyncFolder: 1})
	if err := s.chat.runTask(func(task *Task) error { return s.chat.DeleteRoom(task, "#r") }); err == nil {
		t.Fatal("deleting a room while no folder can be synced: got nil, want an error")
	}
	s.disk.SetFaults(simdisk.Faults{})
	ann.send("JOIN #r")
	if text := strings.Join(ann.sync(), "\n"); !strings.Contains(text, "hello") {
		t.Errorf("a room whose deletion was refused: got\n%s\nwant its message", text)
	}
}
