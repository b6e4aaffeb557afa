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

// chatd has the disk store a new folder in its parent before anything is written there
// (docs/protocol.md): a loss of power would take the folder with all that was acknowledged in it.
// That its data folder exists already does not show that the disk has its name.
func TestNewFoldersAreStoredInTheirParents(t *testing.T) {
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("strace is not installed: scripts/setup test gets it")
	}
	if _, err := chatdBinary(); err != nil {
		t.Skip(err)
	}
	for _, test := range []struct {
		name, data string
		exists     bool
	}{
		{"a new data folder", "{data}", false},
		{"a new data folder with a slash at its end", "{data}/", false},
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
		t.Errorf("it made %q, want its folders and the room's:\n%s", all, text)
	}
	if len(waiting) > 0 {
		t.Errorf("the folders %q, in which it made or found its own, were not synced:\n%s", waiting, text)
	}
}

// wholeCalls returns the lines of a trace by strace. A call that another process interrupts is
// written in two pieces ("<unfinished ...>", "<... NAME resumed>"), which are joined here.
func wholeCalls(trace string) (lines []string) {
	begun := map[string]string{} // by process
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
