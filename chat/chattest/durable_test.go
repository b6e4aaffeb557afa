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

// A folder that a loss of power takes away takes all that was acknowledged in it: chatd has the disk store it in its parent
// (docs/protocol.md) before anything is written there.
func TestNewFoldersAreStoredInTheirParents(t *testing.T) {
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("strace is not installed: scripts/setup test gets it")
	}
	if _, err := chatdBinary(); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	trace := filepath.Join(dir, "trace")
	s := &server{data: filepath.Join(dir, "data"), program: &program{name: "chatd under strace", command: []string{"chatd", "--data", "{data}", "--listen", "{addr}"},
		runner: []string{"strace", "-D", "-f", "-y", "-qq", "-o", trace, "-e", "trace=mkdir,mkdirat,fsync"}}}
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
	var waiting, all []string
	for _, line := range wholeCalls(string(text)) {
		if m := made.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			path := m[2]
			if !filepath.IsAbs(path) {
				path = filepath.Join(m[1], path)
			}
			waiting, all = append(waiting, filepath.Dir(path)), append(all, path)
		}
		if m := synced.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			waiting = slices.DeleteFunc(waiting, func(parent string) bool { return parent == m[1] })
		}
	}
	if len(all) < 4 { // data, rooms, direct, the room
		t.Errorf("it made %q, want its folders and the room's:\n%s", all, text)
	}
	if len(waiting) > 0 {
		t.Errorf("of the folders that it made, %q were not stored in their parents:\n%s", waiting, text)
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
