package host

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/chat"
)

func admin(t *testing.T, dir string) *Admin {
	t.Helper()
	a, err := OpenAdmin(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

func TestAServerThatRunsChangesRooms(t *testing.T) {
	r := start(t, Config{Retention: Retention{RoomBytes: 1e9}})
	ann := r.user("ann", "JOIN #a%b&c", "JOIN #other")
	ann.until(" 366 ann #other ")
	a := admin(t, r.Config().Data)
	if !a.Running() {
		t.Error("Running: got false, want true")
	}
	topic := "Rosés & lilacs"
	if err := a.ChangeRoom(t.Context(), "#a%b&c", chat.RoomChange{Topic: &topic}); err != nil {
		t.Fatal(err)
	}
	ann.until(" TOPIC #a%b&c :" + topic)
	live, err := a.Live(t.Context(), "#A%b&c")
	if err != nil || len(live.Members) != 1 || live.Members[0] != (chat.Member{Nick: "ann", Ranks: "o"}) || live.KeptBytes != 1e9 || live.KeptFor != 0 {
		t.Errorf("Live: got %+v, %v; want the members and limits", live, err)
	}
	if err := a.DeleteRoom(t.Context(), "#other"); err != nil {
		t.Fatal(err)
	}
	ann.until(" KICK #other ann :")
	if err := a.DeleteRoom(t.Context(), "#other"); err == nil || !strings.Contains(err.Error(), "there is no such room: #other") {
		t.Errorf("DeleteRoom of a deleted room: got %v, want an error", err)
	}
	long := strings.Repeat("x", 80)
	if err := a.ChangeRoom(t.Context(), "#a%b&c", chat.RoomChange{Key: &long}); err == nil || !strings.Contains(err.Error(), "a key is one word") {
		t.Errorf("ChangeRoom with a long key: got %v, want an error", err)
	}
	if text := r.log.String(); strings.Contains(text, topic) || !strings.Contains(text, `room=#other`) {
		t.Errorf("the log is %s, want the changes without the key", text)
	}
	info, err := os.Stat(filepath.Join(r.Config().Data, controlName))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got mode %v, %v; want a socket that only its owner can open", info, err)
	}
}

// The socket of a server that has ended is no server.
func TestWithoutAServerRoomsAreChangedInTheFiles(t *testing.T) {
	data := t.TempDir()
	r := start(t, Config{Data: data})
	r.user("ann", "JOIN #a", "TOPIC #a :so that it stays").until("TOPIC #a")
	r.stop()
	a := admin(t, data)
	if a.Running() {
		t.Error("Running: got true, want false")
	}
	key := "lilac"
	err := errors.Join(a.ChangeRoom(t.Context(), "#a", chat.RoomChange{Key: &key}), a.Close())
	if err != nil {
		t.Fatal(err)
	}
	again := start(t, Config{Data: data})
	again.user("bob", "JOIN #a").until(" 475 bob #a ")
}

// A server that has no socket, such as the one in C, has to be stopped.
func TestAControlSocketThatDoesNotAnswerIsAnError(t *testing.T) {
	data := t.TempDir()
	s, err := chat.Open(data, chat.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := OpenAdmin(data); err == nil || !strings.Contains(err.Error(), "is in use by another server") {
		t.Errorf("OpenAdmin with a control socket that does not answer: got %v, want an error", err)
	}
	if _, err := OpenAdmin(filepath.Join(data, "no")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("OpenAdmin of a missing folder: got %v, want an error", err)
	}
}
