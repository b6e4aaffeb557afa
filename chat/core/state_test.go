package core

import (
	"path/filepath"
	"strings"
	"testing"
	"weir/internal/disk"
	"weir/internal/durable"
)

// Another version of the server may have written such lines.
func TestUnknownLinesOfAStateFileAreKept(t *testing.T) {
	s := startServer(t, Options{}).run()
	ann := s.user("ann")
	ann.send("JOIN #r", "PRIVMSG #r :said", "MODE #r +s", "PING x")
	ann.until("PONG")
	s.halt()
	path := filepath.Join(s.dir, "rooms", "#r", "state")
	state, err := disk.ReadFile(s.o.Disk, path)
	if err != nil {
		t.Fatal(err)
	}
	unknown := []string{":weir.chat PINNED #r msgid-17", ":weir.chat QUIET #r", ":ann MODE #r +e friend!*@* 1763730000", ":weir.chat MODE #r +q bob",
		":weir.chat NOTE #r :of several words"}
	text := strings.Replace(string(state), "MODE #r +nst", "MODE #r +nstZ", 1) + strings.Join(unknown, "\r\n") + "\r\n"
	if err := (durable.Files{Disk: s.o.Disk}).ReplaceFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s.run()
	ann = s.user("ann", "draft/channel-rename")
	ann.send("JOIN #r", "MODE #r")
	if line := ann.until(" 324 "); !strings.HasSuffix(line, "#r +nst") {
		t.Errorf("modes read from a state file with unknown ones: got %q, want those that are known", line)
	}
	ann.send("TOPIC #r :another", "RENAME #r #R", "MODE #R +i", "PING done")
	ann.until("done")
	got := s.stateFile("#r")
	for _, want := range append(unknown, ":weir.chat MODE #r +instZ") {
		if want = strings.Replace(want, "#r", "#R", 1) + "\r\n"; strings.Count(got, want) != 1 {
			t.Errorf("the state is %q, want %q once", got, want)
		}
	}
}
