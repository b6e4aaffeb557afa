//go:build linux

package chattest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	made   = regexp.MustCompile(`^\d+ +mkdir(?:at)?\((?:(?:AT_FDCWD|\d+)<([^>]*)>, )?"([^"]*)", 0700\) += 0$`)
	synced = regexp.MustCompile(`^\d+ +fsync\(\d+<([^>]*)>\) += 0$`)
)

// TestNewFoldersAreSyncedInTheirParents checks that chatd syncs the parent of each new folder
// before it writes to the folder (docs/protocol.md). Otherwise a power loss could remove the folder
// with everything acknowledged in it. An existing data folder is synced too: it may not be durable
// yet.
func TestNewFoldersAreSyncedInTheirParents(t *testing.T) {
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("strace is not installed: run scripts/setup test")
	}
	if _, err := chatdBinary(); err != nil {
		t.Skip(err)
	}
	for _, test := range []struct {
		name, data string
		exists     bool
	}{
		{"a new data folder", "{data}", false},
		{"a new data folder with a trailing slash", "{data}/", false},
		{"a data folder that exists", "{data}", true},
	} {
		t.Run(test.name, func(t *testing.T) { checkFoldersAreStored(t, test.data, test.exists) })
	}
}

func checkFoldersAreStored(t *testing.T, data string, exists bool) {
	dir := t.TempDir()
	trace := filepath.Join(dir, "trace")
	s := &server{data: filepath.Join(dir, "data"), program: &program{name: "chatd under strace", command: []string{"chatd", "--data", data, "--listen", "{addr}"},
		runner: []string{"strace", "-D", "-f", "-y", "-qq", "-o", trace, "-e", "trace=mkdir,mkdirat,fsync"}}}
	waiting, want := []string{dir}, 4 // data, rooms, direct, the room
	if exists {
		if err := os.Mkdir(s.data, 0o700); err != nil {
			t.Fatal(err)
		}
		want = 3
	}
	s.mustStart(t)
	c := s.guest(t, "ann")
	c.join(t, "#new")
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, line := range wholeCalls(string(text)) {
		if m := made.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			path := m[2]
			if !filepath.IsAbs(path) {
				path = filepath.Join(m[1], path)
			}
			path = filepath.Clean(path)
			waiting, all = append(waiting, filepath.Dir(path)), append(all, path)
		}
		if m := synced.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			waiting = slices.DeleteFunc(waiting, func(parent string) bool { return parent == m[1] })
		}
	}
	if len(all) < want {
		t.Errorf("chatd created the folders %q, want %d or more: its own and the room's:\n%s", all, want, text)
	}
	if len(waiting) > 0 {
		t.Errorf("got no sync of the parent folders %q, want one after each new folder:\n%s", waiting, text)
	}
}

// wholeCalls returns the lines of a trace by strace. A call that another process interrupts is
// traced in two parts ("<unfinished ...>", "<... NAME resumed>"); wholeCalls joins them.
func wholeCalls(trace string) (lines []string) {
	begun := map[string]string{} // by process id
	for line := range strings.Lines(trace) {
		line = strings.TrimSpace(line)
		process, call, _ := strings.Cut(line, " ")
		if first, ok := strings.CutSuffix(line, " <unfinished ...>"); ok {
			begun[process] = first
			continue
		}
		if _, rest, ok := strings.Cut(call, " resumed>"); ok {
			line = begun[process] + rest
		}
		lines = append(lines, line)
	}
	return lines
}
