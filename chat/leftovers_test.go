package chat

import (
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"weir/chat/internal/storage"
)

// A log that the disk has lost must be reported, not removed.
func TestAStartKeepsARoomWhoseMessagesAreMissing(t *testing.T) {
	dir := t.TempDir()
	for name, end := range map[string]byte{"#new": 0, "#missing": 1} {
		room := filepath.Join(dir, "rooms", name)
		if err := os.MkdirAll(room, 0o700); err != nil {
			t.Fatal(err)
		}
		for file, text := range map[string]string{"id": "abcdefgh\n", "lock": "", "00000000000000000000.log": "", "committed": string([]byte{end, 15: 0})} {
			if err := os.WriteFile(filepath.Join(room, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := storage.New(dir, nil, nil, slog.New(slog.DiscardHandler)).RemoveLeftovers(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"#new": false, "#missing": true} {
		if _, err := os.Stat(filepath.Join(dir, "rooms", name)); (err == nil) != want {
			t.Errorf("folder of %s after the start: got it present %v, want %v", name, err == nil, want)
		}
	}
}

func TestAStartRemovesTemporaryFilesOfAKilledServer(t *testing.T) {
	s := startServer(t, testWays()[0], Options{})
	a := s.run().user("ann")
	a.send("JOIN #one", "TOPIC #one :something", "PRIVMSG #one :hello", "PING stored")
	a.until("stored")
	s.halt()
	for _, name := range []string{
		"rooms/#one/.state-123456", "rooms/#one/.state.tmp", "rooms/#one/.metadata.tmp", "rooms/#one/state.new", "metadata/.ann.tmp",
		".accounts.tmp", ".deleted-1/room/00000000000000000000.log",
	} {
		path := filepath.Join(s.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.run()
	err := filepath.WalkDir(s.dir, func(path string, e fs.DirEntry, err error) error {
		name := filepath.Base(path)
		if strings.HasPrefix(name, ".") && name != ".lock" || strings.HasSuffix(name, ".new") {
			t.Errorf("%s of a killed server exists, want it removed", strings.TrimPrefix(path, s.dir))
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	b := s.user("bob")
	b.send("JOIN #one")
	b.until("something")
}
