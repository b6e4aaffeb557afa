package chat

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/chat/account"
	"weir/chat/data"
	"weir/serve"
)

// state returns the stored state of a room.
func (s *server) state(name string) RoomState {
	s.t.Helper()
	room, err := data.Named(name)
	if err != nil {
		s.t.Fatal(err)
	}
	state, err := ReadRoom(s.dir, room)
	if err != nil {
		s.t.Fatal(err)
	}
	return state
}

func TestAnAdministratorsChangeIsSentToMembers(t *testing.T) {
	everyWay(t, func(t *testing.T, s *server) {
		s.account("ann", "secret of ann", account.Member)
		bob := s.user("bob")
		bob.send("JOIN #Garden")
		bob.sync()
		ann := s.client("ann")
		ann.send("PASS :ann:secret of ann", "NICK ann", "USER ann 0 * :ann", "JOIN #garden")
		ann.until(" 366 ")
		topic, key := "Roses", "lilac"
		if err := s.chat.ChangeRoom("#garden", RoomChange{Topic: &topic, Key: &key, Ranks: map[string]string{"Ann": "+ov"}}); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{":weir.chat MODE #Garden +k lilac", ":weir.chat MODE #Garden +o ann", ":weir.chat MODE #Garden +v ann", ":weir.chat TOPIC #Garden :Roses"} {
			bob.until(want)
		}
		state := s.state("#garden")
		if state.Name != "#Garden" || state.Topic != "Roses" || state.TopicBy != "weir.chat" || state.Key != "lilac" || state.Ranks["ann"] != "ov" || state.CreatedAt.IsZero() {
			t.Errorf("got state %+v, want the topic, key and ranks that were set", state)
		}
		none := ""
		if err := s.chat.ChangeRoom("#GARDEN", RoomChange{Topic: &none, Key: &none, Ranks: map[string]string{"ann": "-ov"}}); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{" MODE #Garden -k *", " MODE #Garden -o ann", " MODE #Garden -v ann", " TOPIC #Garden :"} {
			bob.until(want)
		}
		if state := s.state("#garden"); state.Topic+state.Key != "" || state.Ranks["ann"] != "" {
			t.Errorf("got state %+v, want no topic, key or ranks", state)
		}
	})
}

// A room that is not open is opened and changed all the same.
func TestAClosedRoomIsChanged(t *testing.T) {
	s := startServer(t, serve.Goroutine, Options{}).run()
	s.account("ann", "secret of ann", account.Member)
	c := s.user("bob")
	c.send("JOIN #a", "PRIVMSG #a :so that it stays")
	c.sync()
	s.halt()
	s.run()
	if err := s.chat.ChangeRoom("#a", RoomChange{Ranks: map[string]string{"ann": "+o"}}); err != nil {
		t.Fatal(err)
	}
	if got := s.state("#a").Ranks["ann"]; got != "o" {
		t.Errorf("ann is %q, want o", got)
	}
}

func TestInvalidAdministrativeChangesAreRejected(t *testing.T) {
	s := startServer(t, serve.Goroutine, Options{}).run()
	c := s.user("bob")
	c.send("JOIN #a")
	c.sync()
	long, words, lines := strings.Repeat("x", 400), "two words", "two\nlines"
	for what, x := range map[string]struct {
		room   string
		change RoomChange
		want   error
	}{
		"no room":        {"#b", RoomChange{}, ErrNoRoom},
		"no name":        {"a,b", RoomChange{}, ErrNoRoom},
		"outside":        {"#../../x", RoomChange{}, ErrNoRoom},
		"long key":       {"#a", RoomChange{Key: &long}, ErrInvalidChange},
		"key of words":   {"#a", RoomChange{Key: &words}, ErrInvalidChange},
		"long topic":     {"#a", RoomChange{Topic: &long}, ErrInvalidChange},
		"topic of lines": {"#a", RoomChange{Topic: &lines}, ErrInvalidChange},
		"no account":     {"#a", RoomChange{Ranks: map[string]string{"bob": "+o"}}, ErrInvalidChange},
		"no rank":        {"#a", RoomChange{Ranks: map[string]string{"ann": "+q"}}, ErrInvalidChange},
	} {
		if err := s.chat.ChangeRoom(x.room, x.change); !errors.Is(err, x.want) {
			t.Errorf("ChangeRoom, %s: got %v, want %v", what, err, x.want)
		}
	}
	if err := s.chat.DeleteRoom("#b"); !errors.Is(err, ErrNoRoom) {
		t.Errorf("DeleteRoom of a room that does not exist: got %v, want ErrNoRoom", err)
	}
}

// The members are removed, all text is deleted, and a later join creates a new room.
func TestADeletedRoomIsGone(t *testing.T) {
	everyWay(t, func(t *testing.T, s *server) {
		bob := s.user("bob")
		bob.send("JOIN #a", "PRIVMSG #a :nevermore")
		bob.sync()
		if err := s.chat.DeleteRoom("#A"); err != nil {
			t.Fatal(err)
		}
		bob.until(":weir.chat KICK #a bob :The room was deleted")
		bob.send("PRIVMSG #a :still there?")
		bob.until(" 40")
		err := filepath.WalkDir(s.dir, func(path string, e os.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			text, err := os.ReadFile(path)
			if strings.Contains(string(text), "nevermore") && !strings.Contains(path, "search") {
				t.Errorf("%s contains the text of the deleted room, want it gone", path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		bob.send("JOIN #a", "PRIVMSG #a :anew")
		for _, line := range bob.sync() {
			if strings.Contains(line, "nevermore") {
				t.Errorf("the new room replays %s, want no message of the deleted room", line)
			}
		}
	})
}
