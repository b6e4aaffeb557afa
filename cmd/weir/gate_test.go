package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// gateRepository is a git repository with a commit and a staged file.
type gateRepository struct {
	*testing.T
	dir string
}

func newGateRepository(t *testing.T) gateRepository {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("trials run on Linux only")
	}
	binary(t) // it is built in the usual folder for temporary files
	r := gateRepository{t, t.TempDir()}
	t.Setenv("TMPDIR", t.TempDir())
	r.git("init", "--quiet")
	r.write("committed", "1\n")
	r.git("add", ".")
	r.git("commit", "--quiet", "-m", "one")
	r.write("staged", "1\n")
	r.git("add", ".")
	return r
}

func (r gateRepository) write(name, text string) {
	r.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o644); err != nil {
		r.Fatal(err)
	}
}

func (r gateRepository) git(args ...string) string {
	r.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.org"}, args...)...)
	cmd.Dir = r.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.Fatalf("git %s: %v: %s", args, err, out)
	}
	return string(out)
}

// gate runs a gate of HEAD against itself whose requests have the path /, with more variables of
// the environment.
func (r gateRepository) gate(env []string, args ...string) (code int, stdout, stderr string) {
	r.Helper()
	cmd := exec.Command(binary(r.T), append([]string{"lab", "gate", "HEAD", "HEAD", "--get", "/"}, args...)...)
	var out, wrong strings.Builder
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = r.dir, append(os.Environ(), env...), &out, &wrong
	if err := cmd.Run(); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			r.Fatal(err)
		}
		code = exit.ExitCode()
	}
	return code, out.String(), wrong.String()
}

// TestAGateInAGitHookLeavesTheIndexAlone sets variables that git sets for its hooks. Git and builds
// in a worktree would write its files into the index that GIT_INDEX_FILE names.
func TestAGateInAGitHookLeavesTheIndexAlone(t *testing.T) {
	r := newGateRepository(t)
	for _, variable := range []string{
		"GIT_INDEX_FILE=" + filepath.Join(r.dir, ".git/index"),
		"GIT_INDEX_FILE=.git/index",
		"GIT_DIR=" + filepath.Join(r.dir, ".git"),
		"GIT_DIR=.git",
		"GIT_WORK_TREE=" + t.TempDir(),
	} {
		code, _, stderr := r.gate([]string{variable}, "--build", "git reset --quiet --hard HEAD; echo built$GIT_INDEX_FILE$GIT_DIR; false", "--run", "server {port}")
		if code != exitFailed || !strings.Contains(stderr, "weir: built\n") {
			t.Errorf("%s: got status %d and %q, want a build that fails without the variable", variable, code, stderr)
		}
		if got := r.git("status", "--short"); got != "A  staged\n" {
			t.Fatalf("%s: got the status %q, want the file staged as before", variable, got)
		}
	}
}

func TestAGateFindsOutputsThatItCannotWriteBeforeItBuilds(t *testing.T) {
	r := newGateRepository(t)
	r.write("results.json", "{}")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--junit", "none/gate.xml"}, exitUsage, "there is no folder none"},
		{[]string{"--markdown", "."}, exitUsage, "it is a folder"},
		{[]string{"--out", "."}, exitFailed, "already holds a run"},
	} {
		code, _, stderr := r.gate(nil, append(c.args, "--build", "touch '"+r.dir+"/built'; false", "--run", "server {port}")...)
		if code != c.code || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: got status %d and %q, want %d and %q", c.args, code, stderr, c.code, c.want)
		}
	}
	if _, err := os.Stat(filepath.Join(r.dir, "built")); err == nil {
		t.Error("got a build, want the errors before it")
	}
}

func TestAGateThatFailsReplacesTheReportsOfAnEarlierOne(t *testing.T) {
	r := newGateRepository(t)
	r.write("gate.xml", "no worse")
	r.write("gate.md", "no worse")
	code, _, _ := r.gate(nil, "--junit", "gate.xml", "--markdown", "gate.md", "--build", "echo no compiler; false", "--run", "server {port}")
	if code != exitFailed {
		t.Errorf("got status %d, want %d", code, exitFailed)
	}
	for _, name := range []string{"gate.xml", "gate.md"} {
		if text, err := os.ReadFile(filepath.Join(r.dir, name)); err != nil || !strings.Contains(string(text), "no compiler") {
			t.Errorf("%s: got %q (%v), want the error", name, text, err)
		}
	}
}

// started returns the command of a gate whose build has started and never ends.
func (r gateRepository) started(stderr *os.File) *exec.Cmd {
	r.Helper()
	building := filepath.Join(r.dir, "building")
	cmd := exec.Command(binary(r.T), "lab", "gate", "HEAD", "HEAD", "--get", "/", "--build", "touch '"+building+"'; sleep 1000", "--run", "server {port}")
	cmd.Dir, cmd.Stderr = r.dir, stderr
	if err := cmd.Start(); err != nil {
		r.Fatal(err)
	}
	for {
		if _, err := os.Stat(building); err == nil {
			return cmd
		}
		time.Sleep(time.Millisecond)
	}
}

// wantInterrupted waits for a gate, which must have ended as after Ctrl-C, and left nothing.
func (r gateRepository) wantInterrupted(cmd *exec.Cmd) {
	r.Helper()
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
		r.Errorf("got %v, want exit status %d", cmd.ProcessState, exitInterrupted)
	}
	if list := r.git("worktree", "list"); strings.Count(list, "\n") != 1 {
		r.Errorf("got the worktrees\n%swant the repository alone", list)
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "weir-gate-*")); len(left) > 0 {
		r.Errorf("got %q left behind, want nothing", left)
	}
}

func TestAGateWhoseTerminalIsClosedLeavesNothing(t *testing.T) {
	r := newGateRepository(t)
	cmd := r.started(nil)
	_ = cmd.Process.Signal(syscall.SIGHUP)
	r.wantInterrupted(cmd)
}

// TestAGateWhoseOutputNobodyReadsGoesOn: the reader may be head(1).
func TestAGateWhoseOutputNobodyReadsGoesOn(t *testing.T) {
	r := newGateRepository(t)
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	reader.Close()
	defer writer.Close()
	cmd := r.started(writer)
	_ = cmd.Process.Signal(syscall.SIGTERM)
	r.wantInterrupted(cmd)
}

func TestAGateRefusesValuesOutOfRange(t *testing.T) {
	r := newGateRepository(t)
	for _, args := range [][]string{
		{"--connections=-3"}, {"--margin=0"}, {"--margin=NaN"}, {"--margin=101%"}, {"--confidence=100%"}, {"--confidence=50%"}, {"--budget=999ms"}, {"--budget=-5m"},
		{"--duration=-1s"}, {"--duration=1ms"}, {"--rate-per-connection=-1"}, {"--rate-per-connection=NaN"}, {"--size=-1"}, {"--server-cpus=0"}, {"--server-cpus=-1"},
	} {
		code, _, stderr := r.gate(nil, append(args, "--build", "touch '"+r.dir+"/built'; false", "--run", "server {port}")...)
		if code != exitUsage || !strings.HasPrefix(stderr, "weir: ") {
			t.Errorf("%s: got status %d and %q, want %d and one error", args, code, stderr, exitUsage)
		}
	}
	if _, err := os.Stat(filepath.Join(r.dir, "built")); err == nil {
		t.Error("got a build, want the errors before it")
	}
}
