package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/lab/result"
)

const shortExperiment = `
name        = "short"
subjects    = ["server"]
connections = [2]
patterns    = ["staggered"]
blocks      = 3
duration    = "400ms"
warm_limit  = "250ms"
window      = "50ms"
twin        = false

[[load]]
name = "messages"
rate = 100
size = 100
`

// project is a folder in which a person types weir commands: it holds a server and a short
// experiment.
type project struct {
	*testing.T
	dir string
}

func newProject(t *testing.T) project {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("experiments run on Linux only")
	}
	p := project{t, t.TempDir()}
	p.write("go.mod", "module mine\n")
	p.write("short.toml", shortExperiment)
	p.subject("server", "")
	t.Cleanup(func() {
		for _, pid := range p.servers() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return p
}

func (p project) write(name, text string) {
	p.Helper()
	file := filepath.Join(p.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
		p.Fatal(err)
	}
}

// subject adds a server to the project's.
func (p project) subject(name, lines string) {
	p.write("subjects/"+name+"/subject.toml", fmt.Sprintf("name = %q\nlanguage = \"Go\"\nparadigm = \"goroutine per connection\"\n"+
		"workloads = [\"sink\"]\nrun = [%q, \"sink\", \"{addr}\", %q]\nwarm_messages = 10\n", name, os.Args[0], p.dir)+lines)
}

func (p project) command(args ...string) *exec.Cmd {
	cmd := exec.Command(binary(p.T), args...)
	cmd.Dir = p.dir
	return cmd
}

// weir runs a command to its end.
func (p project) weir(args ...string) (stderr string, code int) {
	p.Helper()
	var said bytes.Buffer
	cmd := p.command(args...)
	cmd.Stderr = &said
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.Fatal(err)
	}
	return said.String(), cmd.ProcessState.ExitCode()
}

// ranToItsEnd reports whether a run is complete. On a busy machine all of its trials may have been
// rejected.
func ranToItsEnd(code int) bool { return code == exitDone || code == exitNothing }

// servers are the processes of the project's servers.
func (p project) servers() (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		if line, _ := os.ReadFile(f); bytes.HasSuffix(line, []byte("\x00"+p.dir+"\x00")) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(f)))
			pids = append(pids, pid)
		}
	}
	return pids
}

func (p project) wantNothing(name string) {
	p.Helper()
	if _, err := os.Stat(filepath.Join(p.dir, name)); !os.IsNotExist(err) {
		p.Errorf("got %s in the folder (%v), want it removed", name, err)
	}
}

// Each of these errors is printed at once, in one line that says what to do, and leaves no
// directory behind.
func TestARunThatCannotStartIsAnErrorOfOneLine(t *testing.T) {
	p := newProject(t)
	p.subject("absent", "needs = [\"no-such-tool-of-weir\"]\n")
	p.write("broken.toml", "name = \"x\"\nlanguage = \"C\"\nparadigm = \"event loop\"\nworkloads = [\"sink\"]\nrun = [\"x\"]\ncolour = \"red\"\n")
	p.write("file", "")
	p.write("taken/run.json", "{}")
	p.write("empty/readme", "")
	for _, c := range []struct {
		name string
		args []string
		code int
		want []string
	}{
		{"an unwritable directory", []string{"short.toml", "--out", "file/run"}, 1, []string{"file/run", "--out"}},
		{"a taken directory", []string{"short.toml", "--out", "taken"}, 1, []string{"taken already holds a run", "--resume taken", "--out"}},
		{"an unknown subject", []string{"short.toml", "--out", "new", "--subjects", "unknown"}, 2, []string{`no subject "unknown"`, "server"}},
		{"a broken subject.toml", []string{"short.toml", "--out", "new", "--subject", "broken.toml"}, 1, []string{"broken.toml:6:", `unknown key "colour"`, "remove it"}},
		{"no subject.toml", []string{"short.toml", "--out", "new", "--subject", "none.toml"}, 1, []string{"none.toml does not exist"}},
		{"a missing tool", []string{"short.toml", "--out", "new", "--subjects", "absent"}, 1, []string{"absent", "no-such-tool-of-weir", "install it"}},
		{"a missing tool of a file's subject", []string{"short.toml", "--out", "new", "--subject", "subjects/absent/subject.toml"}, 1, []string{"absent", "install it"}},
		{"a workload that it does not serve", []string{"short.toml", "--out", "new", "--subjects", "server", "--workload", "echo"}, 1, []string{"server", "echo", "only sink"}},
		{"an unknown experiment", []string{"nothing", "--out", "new"}, 2, []string{`no experiment "nothing"`, "im-published"}},
		{"nothing to resume", []string{"--resume", "empty"}, 1, []string{"empty holds no run to resume"}},
		{"a directory beside --resume", []string{"--resume", "taken", "--out", "new"}, 2, []string{"--out", "--resume"}},
		{"a plan beside --resume", []string{"--resume", "taken", "--blocks", "3"}, 2, []string{"--blocks", "--resume"}},
		{"an experiment beside --resume", []string{"im", "--resume", "taken"}, 2, []string{"im", "--resume"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			stderr, code := p.weir(append([]string{"lab", "run"}, c.args...)...)
			if code != c.code || strings.Count(stderr, "\n") != 1 {
				t.Errorf("exit status %d, want %d, and one line:\n%s", code, c.code, stderr)
			}
			for _, want := range c.want {
				if !strings.Contains(stderr, want) {
					t.Errorf("%q is not in: %s", want, stderr)
				}
			}
			project{t, p.dir}.wantNothing("new")
		})
	}
}

// A missing subject of the experiment is reported at once, and the run goes on without it. A broken
// subject that the experiment does not name is not reported.
func TestAMissingSubjectIsReportedBeforeTheFirstTrial(t *testing.T) {
	p := newProject(t)
	p.subject("absent", "needs = [\"no-such-tool-of-weir\"]\n")
	p.subject("failing", "build = [\"sh\", \"-c\", \"printf tw%s o >&2; exit 1\"]\n")
	p.write("subjects/broken/subject.toml", "nothing")
	p.write("short.toml", strings.Replace(shortExperiment, `["server"]`, `["server", "absent", "failing"]`, 1))
	stderr, code := p.weir("lab", "run", "short.toml", "--out", "run", "--no-reasons", "--blocks", "1")
	if !ranToItsEnd(code) {
		t.Fatalf("lab run: got exit status %d, want the run to end without the missing subjects:\n%s", code, stderr)
	}
	first, _, _ := strings.Cut(stderr, "trial 1 of")
	for _, want := range []string{"leaving out absent: no-such-tool-of-weir", "leaving out failing: build failed"} {
		if strings.Count(first, want) != 1 {
			t.Errorf("%q does not stand once before the first trial:\n%s", want, stderr)
		}
	}
	if strings.Contains(stderr, "broken") || strings.Contains(stderr, "two") {
		t.Errorf("want no report of subjects that the experiment does not name, got\n%s", stderr)
	}
	if found, err := result.Read(filepath.Join(p.dir, "run")); err != nil || len(found.Skipped) != 2 || len(found.Subjects) != 1 {
		t.Errorf("results: got error %v, skipped %+v, took part %+v, want none, 2 and 1", err, found.Skipped, found.Subjects)
	}
}

func TestCtrlCWhileASubjectIsBuiltLeavesNothing(t *testing.T) {
	p := newProject(t)
	p.subject("slow", "build = [\"sleep\", \"600\"]\n")
	p.write("short.toml", strings.Replace(shortExperiment, `["server"]`, `["server", "slow"]`, 1))
	cmd := p.command("lab", "run", "short.toml", "--out", "run")
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		said = append(said, lines.Text())
		if lines.Text() == "building slow" {
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = cmd.Wait() // its exit status is looked at below
	if code := cmd.ProcessState.ExitCode(); code != 130 || !strings.HasPrefix(said[len(said)-1], "weir: interrupted") {
		t.Errorf("exit status %d, said %q; want 130 and that it was interrupted", code, said)
	}
	p.wantNothing("run")
}

// A killed run cannot clean up. It loses only the trial that was in progress.
func TestARunThatWasKilledIsResumed(t *testing.T) {
	p := newProject(t)
	cmd := p.command("lab", "run", "short.toml", "--out", "run", "--no-reasons")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kept := p.awaitTrials(cmd, 2)
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // it was killed
	p.wantNothing("run/results.json")

	if stderr, code := p.weir("lab", "run", "--resume", "run"); !ranToItsEnd(code) {
		t.Fatalf("lab run --resume: got exit status %d, want the run to end:\n%s", code, stderr)
	}
	found, err := result.Read(filepath.Join(p.dir, "run"))
	if err != nil {
		t.Fatal(err)
	}
	p.wantWhole(found, kept)
	if left := p.servers(); len(left) > 0 && strings.HasPrefix(found.AccountingMethods[0].Name, "cgroup") {
		t.Errorf("servers of the killed run after its resumption: got %v, want none", left)
	}
	for _, name := range []string{"report.html", "bench.txt", "trials.csv"} {
		if _, err := os.Stat(filepath.Join(p.dir, "run", name)); err != nil {
			t.Errorf("after the resumed run: got %v, want the file to be written", err)
		}
	}
	p.subject("server", "env = { A = \"b\" }\n")
	if stderr, code := p.weir("lab", "run", "--resume", "run"); code != 1 || !strings.Contains(stderr, "the program of server has changed") {
		t.Errorf("resuming with another program of server: got exit status %d, want 1 and that the program has changed:\n%s", code, stderr)
	}
}

// Ctrl-C names the trials that are kept, and the command that continues the run.
func TestCtrlCNamesTheKeptTrialsAndTheCommandThatContinues(t *testing.T) {
	p := newProject(t)
	cmd := p.command("lab", "run", "short.toml", "--out", "run", "--no-reasons")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.awaitTrials(cmd, 1)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // its exit status is compared below
	lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
	last := lines[len(lines)-1]
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted || !strings.Contains(last, "kept in run; weir lab run --resume run continues the run") || strings.Contains(stderr.String(), "canceled") {
		t.Errorf("got exit status %d, want %d, and the kept trials in the last line:\n%s", code, exitInterrupted, &stderr)
	}
}

// awaitTrials waits until a run has kept at least n trials, and returns their lines.
func (p project) awaitTrials(cmd *exec.Cmd, n int) []string {
	p.Helper()
	deadline := time.After(2 * time.Minute)
	for tick := time.NewTicker(5 * time.Millisecond); ; {
		text, _ := os.ReadFile(filepath.Join(p.dir, "run", "trials.jsonl"))
		if lines := strings.SplitAfter(string(text), "\n"); len(lines) > n {
			return lines[:len(lines)-1]
		}
		select {
		case <-tick.C:
		case <-deadline:
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			p.Fatal("got no trial that ended in two minutes, want one")
		}
	}
}

// wantWhole fails unless the run has all its places, and still the trials that were kept before.
func (p project) wantWhole(found *result.Results, kept []string) {
	p.Helper()
	text, err := os.ReadFile(filepath.Join(p.dir, "run", "trials.jsonl"))
	if err != nil {
		p.Fatal(err)
	}
	if now := strings.SplitAfter(string(text), "\n"); !slices.Equal(now[:len(kept)], kept) {
		p.Errorf("got other trials at the start of trials.jsonl, want the %d that were kept, unchanged", len(kept))
	}
	places := map[[2]int]bool{}
	for _, trial := range found.Trials {
		places[[2]int{trial.Block, trial.Position}] = true
	}
	if len(places) != 6 || found.Finished.IsZero() {
		p.Errorf("got trials at %d places, finished %v, want 6 and a time at which the run finished", len(places), found.Finished)
	}
}
