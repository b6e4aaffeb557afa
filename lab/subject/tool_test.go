package subject

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// daemon is a shell command that leaves a process in the background, in a session of its own and
// without the environment, and writes its ID into the file pid. The process keeps the output open.
const daemon = "env -i setsid sh -c 'echo $$ > pid; exec sleep 1000' & while [ ! -s pid ]; do sleep .01; done; "

// wantDaemonKilled checks that the process of daemon has ended.
func wantDaemonKilled(t *testing.T, s *Subject) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.Dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err == nil && !strings.Contains(string(stat), ") Z ") {
		_ = syscall.Kill(pid, syscall.SIGKILL)
		t.Errorf("got the process %d left in the background, want none", pid)
	}
}

func TestToolsLeaveNoProcessInTheBackground(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("there is no /proc")
	}
	for _, tt := range []struct {
		name, line string
		run        func(*testing.T, *Subject)
	}{
		{"a build", `build = ["sh", "-c", "` + daemon + `true"]`, func(t *testing.T, s *Subject) {
			if err := s.Build(t.Context(), nil); err != nil {
				t.Errorf("got error %v, want none: the build succeeded", err)
			}
		}},
		{"a build that fails", `build = ["sh", "-c", "` + daemon + `echo no compiler; exit 3"]`, func(t *testing.T, s *Subject) {
			wantError(t, s.Build(t.Context(), nil), "exit status 3", "no compiler")
		}},
		{"a check", `check = ["sh", "-c", "` + daemon + `true"]`, func(t *testing.T, s *Subject) {
			if missing := s.Missing(); missing != "" {
				t.Errorf("got %q missing, want nothing", missing)
			}
		}},
		{"a version", `version = ["sh", "-c", "` + daemon + `echo 1.2; seq 100000"]`, func(t *testing.T, s *Subject) {
			if v := s.Describe().Version; v != "1.2" {
				t.Errorf("got the version %q, want the first line", v)
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := scratch(t, "plain", tt.line)
			tt.run(t, s)
			wantDaemonKilled(t, s)
		})
	}
}

// TestABuildThatWaitsForAnotherCanBeInterrupted: another build of the subject may never end.
func TestABuildThatWaitsForAnotherCanBeInterrupted(t *testing.T) {
	s := scratch(t, "plain", `build = ["true"]`)
	unlock, err := s.lock(t.Context(), syscall.LOCK_EX)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := s.Build(ctx, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got error %v, want %v", err, context.DeadlineExceeded)
	}
}

// TestFilesThatNeverEndAreNotRead: a repository may contain links to devices, and a build may make
// pipes.
func TestFilesThatNeverEndAreNotRead(t *testing.T) {
	s := scratch(t, "plain", `sources = ["*.c"]`, `binary = "pipe"`)
	for _, name := range []string{"pipe", "a.c"} {
		if err := syscall.Mkfifo(filepath.Join(s.Dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if d := s.Describe(); d.Lines != 0 || d.BinaryBytes != 0 {
		t.Errorf("pipes: got %d lines and %d bytes, want none", d.Lines, d.BinaryBytes)
	}
	if s.Program() == "" {
		t.Error("pipes: got no digest, want one")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, fileName)
	if err := syscall.Mkfifo(file, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Read(dir)
	wantError(t, err, file+" is no regular file")
	if err := errors.Join(os.Remove(file), os.Symlink("/dev/zero", file)); err != nil {
		t.Fatal(err)
	}
	_, err = Read(file)
	wantError(t, err, file+" is no regular file")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	write(t, file, strings.Repeat("#", maxDescription+1))
	_, err = Read(file)
	wantError(t, err, "has more than 1048576 bytes")
}
