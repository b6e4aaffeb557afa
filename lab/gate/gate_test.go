package gate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"weir/lab"
	"weir/lab/result"
	"weir/lab/workload"
)

// server is an echo server that computes for some microseconds per message, and sleeps for some
// milliseconds before it listens.
const server = `package main

import (
	"net"
	"os"
	"time"
)

func main() {
	time.Sleep(%d * time.Millisecond)
	l, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		panic(err)
	}
	for {
		c, err := l.Accept()
		if err != nil {
			panic(err)
		}
		go func() {
			defer c.Close()
			b := make([]byte, 4096)
			for {
				n, err := c.Read(b)
				if err != nil {
					return
				}
				for began := time.Now(); time.Since(began) < %d*time.Microsecond; {
				}
				c.Write(b[:n])
			}
		}()
	}
}
`

// description is the subject.toml of the server.
const description = `name          = "tiny"
language      = "Go"
paradigm      = "goroutine per connection"
workloads     = ["echo"]
build         = ["go", "build", "-o", "{out}/tiny", "."]
run           = ["{out}/tiny", "{addr}"]
warm_messages = 20
binary        = "{out}/tiny"
contract      = "published"
`

// repository is a git repository with two versions of a server: the tags "fast" and "slow". The
// second computes 1 ms per message.
type repository struct {
	*testing.T
	dir  string
	temp string // the folder for temporary files
}

func newRepository(t *testing.T) repository {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("trials run on Linux only")
	}
	r := repository{T: t, dir: t.TempDir(), temp: t.TempDir()}
	t.Setenv("TMPDIR", r.temp)
	t.Chdir(r.dir)
	r.git("init", "--quiet")
	r.write("go.mod", "module tiny\n\ngo 1.22\n")
	r.write("server.toml", description)
	r.commit("fast", fmt.Sprintf(server, 0, 0))
	r.commit("slow", fmt.Sprintf(server, 0, 1000))
	return r
}

func (r repository) git(args ...string) string {
	r.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.org"}, args...)...)
	cmd.Dir = r.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.Fatalf("git %s: %v: %s", args, err, out)
	}
	return string(out)
}

func (r repository) write(name, text string) {
	r.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o644); err != nil {
		r.Fatal(err)
	}
}

// commit records a version of the server under a tag.
func (r repository) commit(tag, source string) {
	r.Helper()
	r.write("main.go", source)
	r.git("add", ".")
	r.git("commit", "--quiet", "-m", tag)
	r.git("tag", tag)
}

// wantClean checks that a gate left no worktree, no file and no process.
func (r repository) wantClean() {
	r.Helper()
	if list := r.git("worktree", "list"); strings.Count(list, "\n") != 1 {
		r.Errorf("got the worktrees\n%swant the repository alone", list)
	}
	if left, _ := filepath.Glob(filepath.Join(r.temp, "weir-gate-*")); len(left) > 0 {
		r.Errorf("got %v left behind, want nothing", left)
	}
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		if line, _ := os.ReadFile(f); bytes.Contains(line, []byte(filepath.Join(r.temp, "weir-gate-"))) {
			r.Errorf("got the process %q left behind, want none", line)
		}
	}
}

// gate returns a short gate of two versions in the repository.
func (r repository) gate(base, head Version) Config {
	r.Helper()
	binary, err := weirBinary()
	if err != nil {
		r.Fatal(err)
	}
	load, err := ReadLoad("echo")
	if err != nil {
		r.Fatal(err)
	}
	load.Connections, load.Loads[0].Shared().Rate, load.Duration = []int{2}, 100, workload.Duration(200*time.Millisecond)
	return Config{
		Base: base, Head: head, Load: load, Margin: 1, Confidence: 0.9, Budget: time.Minute, Seed: 1, ServerCPUs: 1,
		Program:   Program{Build: "go build -o {out}/server .", Run: "{out}/server {addr}"},
		Generator: []string{binary, "load"}, Command: "weir lab gate",
	}
}

// TestAPlantedRegressionIsWorse also runs the whole gate: worktrees, builds, trials, verdict. A
// millisecond is more than ten times the cost of an echo.
func TestAPlantedRegressionIsWorse(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	r := newRepository(t)
	c := r.gate("fast", "slow")
	c.Program = Program{Subject: "server.toml"}
	o, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	r.wantClean()
	cpu := o.Metrics[0]
	if o.Verdict != Worse || cpu.Name != MetricCPU || !cpu.Judged || cpu.Verdict != Worse || cpu.Ratio < 2 || cpu.Low <= 1 {
		t.Errorf("got %s (%s), CPU %+v, want it worse by a factor of 2 at least", o.Verdict, o.Reason, cpu)
	}
	if o.Base.Commit == "" || o.Base.Commit == o.Head.Commit || o.Trials != 8*o.Blocks || o.Machine.Cores == 0 {
		t.Errorf("got %+v and %+v in %d trials of %d blocks, want two commits and eight trials a block", o.Base, o.Head, o.Trials, o.Blocks)
	}
}

func TestAnInterruptedGateLeavesNothingBehind(t *testing.T) {
	for _, phase := range []string{"checking out", "building", "trial"} {
		t.Run(phase, func(t *testing.T) {
			r := newRepository(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			c := r.gate("fast", "slow")
			ticks := 0
			c.Progress = func(p lab.Progress) {
				// in a trial not the first report: its processes are running then
				if ticks++; p.Phase == phase && (phase != "trial" || p.CPU >= 0) {
					cancel()
				}
			}
			if _, err := Run(ctx, c); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want %v", err, context.Canceled)
			}
			r.wantClean()
		})
	}
}

// TestAFirstBlockBeyondTheBudgetEndsTheGate has a server that is never ready: each of its starts
// takes longer than the budget.
func TestAFirstBlockBeyondTheBudgetEndsTheGate(t *testing.T) {
	r := newRepository(t)
	c := r.gate("fast", "slow")
	c.Program, c.Budget = Program{Run: "sh -c \"sleep 1000\" {addr}"}, time.Second
	if _, err := Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), "the budget of 1s ended within the first block") {
		t.Errorf("got %v, want an error that names the budget", err)
	}
	r.wantClean()
}

// TestStartsBeyondTheBudgetEndTheGate: no time is left for the trials, which is not no limit.
func TestStartsBeyondTheBudgetEndTheGate(t *testing.T) {
	r := newRepository(t)
	c := r.gate("fast", "slow")
	c.Metrics, c.Budget = []string{MetricStartup}, time.Second
	c.Program.Run = "sh -c \"sleep 0.3; exec {out}/server {addr}\""
	if _, err := Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), "the budget of 1s ended within the first block") {
		t.Errorf("got %v, want an error that names the budget", err)
	}
	r.wantClean()
}

func TestInvalidGatesAreOneError(t *testing.T) {
	r := newRepository(t)
	outside := t.TempDir()
	for _, c := range []struct {
		name   string
		change func(c *Config)
		want   string
	}{
		{"no such revision", func(c *Config) { c.Base = "v9" }, `there is no revision "v9"`},
		{"a revision like a flag", func(c *Config) { c.Base = "--help" }, `there is no revision "--help"`},
		{"no such folder", func(c *Config) { c.Head = "./none" }, "there is no folder"},
		{"no repository", func(*Config) { t.Chdir(outside) }, "in no git repository"},
		{"no way to run it", func(c *Config) { c.Program = Program{} }, "--subject"},
		{"no such subject.toml", func(c *Config) { c.Program = Program{Subject: "subject.toml"} }, "fast has no subject.toml"},
		{"a subject.toml elsewhere", func(c *Config) { c.Program = Program{Subject: "sub/../../subject.toml"} }, "outside of the version"},
		{"an absolute subject.toml", func(c *Config) { c.Program = Program{Subject: "/subject.toml"} }, "absolute path"},
		{"an open quote", func(c *Config) { c.Program.Run = "'{out}/server {addr}" }, "open quote"},
		{"a build that fails", func(c *Config) { c.Program.Build = "echo no compiler; exit 3" }, "no compiler"},
		{"a server that exits", func(c *Config) { c.Program.Run = "sh -c 'echo no luck >&2; exit 3' {addr}" }, "no luck"},
		{"no such program", func(c *Config) { c.Program.Run = "./server {addr}" }, "does not exist"},
		{"no such metric", func(c *Config) { c.Metrics = []string{"cpus"} }, `did you mean "cpu"`},
		{"a metric twice", func(c *Config) { c.Metrics = []string{"cpu", "cpu"} }, "given twice"},
		{"two loads", func(c *Config) {
			c.Load.Loads = append(c.Load.Loads, c.Load.Loads[0].Clone())
			c.Load.Loads[1].Shared().Name = "b"
		}, "a gate has one"},
		{"a search for a knee", func(c *Config) { c.Load.Knee = "p99 < 10ms" }, "leave knee out"},
		{"many connections", func(c *Config) { c.Load.Connections = []int{1, 2} }, "a gate has one"},
		{"no margin", func(c *Config) { c.Margin = 0 }, "margin"},
		{"no confidence", func(c *Config) { c.Confidence = 1 }, "confidence"},
		{"no HEAD", func(c *Config) { c.Head = "" }, "name the version"},
		{"no BASE", func(c *Config) { c.Base = "" }, "BASE and HEAD"},
		{"BASE and a baseline", func(c *Config) { c.Baseline = &Baseline{} }, "takes the place of BASE"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(r.dir)
			g := r.gate("fast", "slow")
			c.change(&g)
			_, err := Run(t.Context(), g)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "gate: ") {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
	r.wantClean()
}

func TestVersionsMayBeFoldersAndSubjects(t *testing.T) {
	r := newRepository(t)
	r.write("subject.toml", description)
	c := r.gate("", "")
	for _, v := range []Version{".", "./subject.toml", Version(r.dir)} {
		trees, err := newTrees()
		if err != nil {
			t.Fatal(err)
		}
		c.Program = Program{}
		b, err := c.build(t.Context(), trees, v, headName)
		if err != nil || b.subject.Dir != r.dir || b.subject.Name != headName || b.Commit != "" {
			t.Errorf("%s: got %+v (%v), want the subject of this folder", v, b, err)
		}
		if err := trees.close(t.Context()); err != nil {
			t.Errorf("%s: got %v, want nothing to remove", v, err)
		}
	}
	r.wantClean()
}

func TestSlowStartsAreWorse(t *testing.T) {
	r := newRepository(t)
	r.commit("late", fmt.Sprintf(server, 200, 0))
	c := r.gate("fast", "late")
	c.Budget = 20 * time.Second
	trees, err := newTrees()
	if err != nil {
		t.Fatal(err)
	}
	defer trees.close(t.Context())
	base, baseErr := c.build(t.Context(), trees, c.Base, baseName)
	head, headErr := c.build(t.Context(), trees, c.Head, headName)
	if baseErr != nil || headErr != nil {
		t.Fatal(baseErr, headErr)
	}
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	track, err := c.startups(t.Context(), base, head)
	if err != nil {
		t.Fatal(err)
	}
	if j := track.judgement(); j.Verdict != Worse || j.Head < 200 || j.Unit != "ms" {
		t.Errorf("200 ms later: got %+v, want it worse and over 200 ms", j)
	}
	if _, err := startOnce(t.Context(), base.subject, "echo"); err != nil {
		t.Errorf("starting again: got %v, want no error", err)
	}
}

// TestALoadOfAnExperimentFits has settings for an experiment with several subjects.
func TestALoadOfAnExperimentFits(t *testing.T) {
	load, err := ReadLoad("echo")
	if err != nil {
		t.Fatal(err)
	}
	its := load.Loads[0].Shared()
	its.Subjects, its.Blocks, its.Duration = []string{"echo-c"}, 1, workload.Duration(2*time.Second)
	e := (&Config{Load: load}).experiment(time.Minute)
	if got := e.Loads[0].Shared(); len(got.Subjects) > 0 || got.Blocks > 0 || len(its.Subjects) != 1 || its.Blocks != 1 {
		t.Errorf("got %+v of %+v, want no subjects and no limit on the blocks, and the load as it was", got, its)
	}
	if got := loadOf(e).DurationS; got != 2 {
		t.Errorf("got windows of %v s, want the load's own 2 s", got)
	}
}

// TestLoadsAreValid checks each load of the gate.
func TestLoadsAreValid(t *testing.T) {
	for _, name := range Loads() {
		e, err := ReadLoad(name)
		if err == nil {
			err = oneCell(e)
		}
		if err != nil {
			t.Errorf("%s: got %v, want no error", name, err)
			continue
		}
		if closed := strings.HasSuffix(name, "-closed"); closed != (e.Patterns[0] == result.Closed) {
			t.Errorf("%s: got the pattern %s, want a closed loop: %t", name, e.Patterns[0], closed)
		}
	}
}
