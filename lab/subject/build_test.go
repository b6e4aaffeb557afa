package subject

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestMissingNamesTheAbsentTool(t *testing.T) {
	tests := []struct{ name, line, want string }{
		{"nothing", ``, ""},
		{"a command", `needs = ["sh", "no-such-tool"]`, "no-such-tool is not on PATH: install it"},
		{"a check that passes", `check = ["true"]`, ""},
		{"a check that says why", `check = ["sh", "-c", "echo; echo 'needs liburing 2.1' >&2; echo more >&2; exit 1"]`, "needs liburing 2.1"},
		{"a check that is silent", `check = ["false"]`, "its check failed: false: exit status 1"},
		{"a check that is not there", `check = ["./check.sh"]`, "its check failed: ./check.sh: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := scratch(t, "plain", tt.line).Missing()
			if got != tt.want && (tt.want == "" || !strings.HasPrefix(got, tt.want)) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if strings.Contains(got, "\n") {
				t.Errorf("got more than one line: %q, want one", got)
			}
		})
	}
	if got, want := NotInstalled("clang"), "clang is not installed (apt-get install clang)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestBuildRunsInTheFolderAndWritesToOut(t *testing.T) {
	s := scratch(t, "plain", `build = ["sh", "-c", "pwd; cp subject.toml {out}/copy"]`)
	var log bytes.Buffer
	if err := s.Build(t.Context(), &log); err != nil {
		t.Fatal(err)
	}
	if dir, _ := filepath.EvalSymlinks(s.Dir); strings.TrimSpace(log.String()) != dir {
		t.Errorf("built in %q, want %q", log.String(), dir)
	}
	if _, err := os.Stat(filepath.Join(s.Out, "copy")); err != nil {
		t.Error(err)
	}
	if err := s.Build(t.Context(), nil); err != nil {
		t.Errorf("without a log: got error %v, want none", err)
	}
}

func TestBuildErrorCarriesTheLastLines(t *testing.T) {
	s := scratch(t, "plain", `build = ["sh", "-c", "seq 100; echo 'x.c:1: no such thing' >&2; exit 4"]`)
	err := s.Build(t.Context(), nil)
	wantError(t, err, "scratch: build failed (exit status 4): cd ", "\n100\nx.c:1: no such thing")
	if strings.Contains(err.Error(), "\n50\n") {
		t.Errorf("got more than the last lines, want line 50 of 100 left out: %v", err)
	}
	s.BuildCmd = []string{"sh", "-c", `printf '\033]0;title\007\033[31mx.c:1\tno\nend'; exit 1`}
	if got := fmt.Sprint(s.Build(t.Context(), nil)); strings.ContainsAny(got, "\033\007") || !strings.Contains(got, "[31mx.c:1\tno\nend") {
		t.Errorf("got %q, want the lines without control characters", got)
	}
	s.Temporary = true
	if got := fmt.Sprint(s.Build(t.Context(), nil)); strings.Contains(got, s.Dir) {
		t.Errorf("a folder that is removed: got %q, want no command that goes there", got)
	}
	s.BuildCmd = []string{"no-such-compiler"}
	wantError(t, s.Build(t.Context(), nil), "cannot build: no-such-compiler is not on PATH")
}

func TestBuildStopsWithItsContextAndLeavesNothing(t *testing.T) {
	s := scratch(t, "plain", `build = ["sh", "-c", "sleep 1000 & echo $$; wait"]`)
	ctx, cancel := context.WithCancel(t.Context())
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	built := make(chan error, 1) // from the build, once
	go func() { built <- s.Build(ctx, w); w.Close() }()
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	wantError(t, <-built, "build interrupted")
	group, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); len(processGroup(group)) > 0; time.Sleep(pause) {
		if time.Now().After(deadline) {
			t.Fatalf("got the processes %v left of an interrupted build, want none", processGroup(group))
		}
	}
}

func TestDescribeCountsLinesAndBytes(t *testing.T) {
	s := scratch(t, "plain", `about = "a"`, `differs = "d"`, `dependencies = 3`, `sources = ["*.c", "a.*", "../*/b.py"]`, `binary = "{out}/bin"`)
	write(t, filepath.Join(s.Dir, "a.c"), "// one\n\n#include <x>\n/* two\n three */ int a; /* four */\n/* five */\n/* six */ /* seven\n*/\n\tint b; // eight\n")
	write(t, filepath.Join(s.Dir, "b.py"), "# one\nx = 1\n\n  # two\ny = '''\n'''\n")
	write(t, filepath.Join(s.Out, "bin"), "12345")
	d := s.Describe()
	if d.Lines != 3+3 || d.BinaryBytes != 5 || d.Dependencies != 3 || d.Name != "scratch" || d.About != "a" || d.Differs != "d" {
		t.Errorf("got %+v, want 6 lines, 5 bytes, 3 dependencies and the texts of the file", d)
	}
	s.Lacks = []string{"ETag", "Range"}
	if d := s.Describe(); d.Differs != "d It lacks ETag, Range." {
		t.Errorf("got that it differs by %q, want what it lacks at the end", d.Differs)
	}
	s.Binary = "{out}"
	write(t, filepath.Join(s.Out, "more", "x"), "678")
	if d := s.Describe(); d.BinaryBytes != 8 {
		t.Errorf("a folder of 8 bytes: got %d, want 8", d.BinaryBytes)
	}
}

func TestHowToCheckIsACommandThatWorks(t *testing.T) {
	for _, test := range []struct {
		what string
		s    Subject
		want string
	}{
		{"a subject of the project", Subject{Name: "a", File: "/p/subjects/a/subject.toml", Dir: "/p/subjects/a", Root: "/p"}, "weir lab check a "},
		{"another file", Subject{Name: "base-again", File: "/q/subject.toml", Dir: "/q", Root: "/q"}, "weir lab check --subject /q/subject.toml "},
		{"a command", Subject{Name: "a", File: commandFile, Dir: "/q", Root: "/q"}, "weir lab check --subject NAME=COMMAND "},
		{"a folder that is removed", Subject{Name: "base", File: commandFile, Temporary: true}, ""},
	} {
		if got := test.s.HowToCheck(); !strings.Contains(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%s: got %q, want %q", test.what, got, test.want)
		}
	}
}
