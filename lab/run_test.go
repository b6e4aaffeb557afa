package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"weir/lab/result"
)

// bench is a project with two subjects of its own and a short experiment on them.
type bench struct {
	t          *testing.T
	experiment *Experiment
	options    Options
}

func newBench(t *testing.T, limits ...int64) *bench {
	if runtime.GOOS != "linux" {
		t.Skip("experiments run on Linux only")
	}
	t.Helper()
	weir, err := weirBinary()
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	must(t, os.WriteFile(filepath.Join(root, "go.mod"), []byte("module test\n"), 0o644))
	e := &Experiment{Name: "test", Settings: Settings{
		Connections: []int{4}, Patterns: []string{"staggered"}, Blocks: 1,
		Duration: Duration(300 * time.Millisecond), Window: Duration(100 * time.Millisecond), WarmLimit: Duration(shortestWarmUp),
		Loads: []Load{{Name: "messages", Rate: 100, Size: 100}},
	}}
	for i, limit := range limits {
		name := fmt.Sprintf("server-%d", i)
		e.Subjects = append(e.Subjects, name)
		must(t, os.MkdirAll(filepath.Join(root, "subjects", name), 0o755))
		text := fmt.Sprintf("name = %q\nlanguage = \"Go\"\nparadigm = \"goroutine per connection\"\nabout = \"Receives bytes.\"\n"+
			"workloads = [\"sink\"]\nrun = [%q, \"server\", \"{addr}\", \"%d\"]\nwarm_messages = 10\n", name, os.Args[0], limit)
		must(t, os.WriteFile(filepath.Join(root, "subjects", name, "subject.toml"), []byte(text), 0o644))
	}
	return &bench{t, e, Options{Out: filepath.Join(root, "run"), Root: root, Seed: 1, ServerCPUs: 1, Generator: []string{weir, "load"}}}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// run runs the experiment and checks that it leaves no process behind.
func (b *bench) run(ctx context.Context, progress func(Progress)) (*result.Results, error) {
	b.t.Helper()
	r, err := NewRunner(ctx, b.experiment, b.options, progress)
	if err != nil {
		return nil, err
	}
	return b.finish(ctx, r)
}

func (b *bench) finish(ctx context.Context, r *Runner) (*result.Results, error) {
	b.t.Helper()
	found, err := r.Run(ctx)
	must(b.t, r.Close())
	nothingLeft(b.t)
	return found, err
}

// nothingLeft wants no process that this one has started and not collected, whichever of its
// threads did.
func nothingLeft(t *testing.T) {
	t.Helper()
	lists, err := filepath.Glob("/proc/self/task/*/children")
	must(t, err)
	for _, list := range lists {
		if children, err := os.ReadFile(list); err == nil && len(children) > 0 {
			t.Errorf("processes are left behind: %s", children)
		}
	}
}

func TestARunTakesEveryPlaceAndKeepsWhatItFound(t *testing.T) {
	b := newBench(t, 0, 0)
	b.experiment.Patterns = []string{"staggered", "poisson"}
	found, err := b.run(t.Context(), nil)
	must(t, err)
	kept, err := result.Read(b.options.Out)
	must(t, err)
	if len(kept.Trials) != len(found.Trials) || kept.Finished.IsZero() {
		t.Errorf("%d trials were found and %d kept, finished %v", len(found.Trials), len(kept.Trials), kept.Finished)
	}
	complete := done(kept.Trials)
	want := 2 * (2 * 3) // patterns, and a palindrome of two subjects and the twin
	if len(complete) != want {
		t.Errorf("%d places are done, want %d", len(complete), want)
	}
	for _, trial := range kept.Trials {
		checkTrial(t, trial)
	}
	if kept.Plan.Twin == "" || len(kept.Rulers) == 0 || !kept.Rulers[0].Truth {
		t.Errorf("the twin is %q, the rulers %v", kept.Plan.Twin, kept.Rulers)
	}
}

func checkTrial(t *testing.T, trial result.Trial) {
	t.Helper()
	if trial.Messages == 0 || trial.CPUPercentMean <= 0 || trial.CPUUSPerMessage <= 0 || trial.LoadUSPerMsg <= 0 || trial.MachineUSPerMsg <= 0 {
		t.Errorf("trial %d has impossible figures: %+v", trial.ID, trial)
	}
	if trial.WarmMessages < 10 || len(trial.Samples) < 4 || trial.Memory.Processes != 1 || trial.WindowS < 0.3 {
		t.Errorf("trial %d: %d warm messages, %d samples, %d processes, window of %v s", trial.ID, trial.WarmMessages, len(trial.Samples), trial.Memory.Processes, trial.WindowS)
	}
	if trial.Accepted != (len(trial.RefusedBecause) == 0) {
		t.Errorf("trial %d: accepted %v because %v", trial.ID, trial.Accepted, trial.RefusedBecause)
	}
}

func TestAnInterruptedRunKeepsItsTrialsAndCanBeResumed(t *testing.T) {
	b := newBench(t, 0, 0)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	found, err := b.run(ctx, func(p Progress) {
		if p.Done == 3 {
			interrupt()
		}
	})
	if !errors.Is(err, context.Canceled) || len(done(found.Trials)) != 3 {
		t.Fatalf("%d places done and error %v, want 3 and cancelled", len(done(found.Trials)), err)
	}
	r, err := Resume(t.Context(), b.options.Out, b.options.Generator, nil)
	must(t, err)
	resumed, err := b.finish(t.Context(), r)
	must(t, err)
	if len(done(resumed.Trials)) != r.plan.Trials() {
		t.Errorf("after resuming %d places are done, want %d", len(done(resumed.Trials)), r.plan.Trials())
	}
	for i := range found.Trials {
		if resumed.Trials[i].Started.Sub(found.Trials[i].Started) != 0 {
			t.Errorf("trial %d was run again", i+1)
		}
	}
}

func TestASubjectThatDiesInMidRunIsNamedAndFinishedTrialsAreKept(t *testing.T) {
	b := newBench(t, 0, 5000)
	no := false
	b.experiment.Twin = &no
	found, err := b.run(t.Context(), nil)
	if err == nil || !strings.Contains(err.Error(), "server-1") || !strings.Contains(err.Error(), "out of luck") {
		t.Errorf("the error is %v, want one that names the subject and its last words", err)
	}
	kept, readErr := result.Read(b.options.Out)
	must(t, readErr)
	if len(kept.Trials) != len(found.Trials) || !kept.Finished.IsZero() {
		t.Errorf("%d of %d trials kept, finished %v", len(kept.Trials), len(found.Trials), kept.Finished)
	}
}

func TestAServerElsewhereIsDrivenWithoutItsCPU(t *testing.T) {
	b := newBench(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	over := make(chan struct{}) // closed by the server when it ends
	go func() {
		defer close(over)
		swallow(l)
	}()
	defer func() { l.Close(); <-over }()
	no := false
	b.experiment.Twin = &no
	b.options.Targets = []string{l.Addr().String()}
	found, err := b.run(t.Context(), nil)
	must(t, err)
	if !found.Subjects[0].Elsewhere {
		t.Error("the report could not say that its CPU was not measured")
	}
	for _, trial := range found.Trials {
		if trial.Messages == 0 || trial.CPUUSPerMessage != 0 {
			t.Errorf("trial %d: %d messages at %v us", trial.ID, trial.Messages, trial.CPUUSPerMessage)
		}
	}
}

// swallow receives from every connection until the listener is closed.
func swallow(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			for b := make([]byte, 4096); ; {
				if _, err := c.Read(b); err != nil {
					return
				}
			}
		}()
	}
}

func TestALoadThatCannotBeReachedEndsTheRunWithItsReason(t *testing.T) {
	b := newBench(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	l.Close()
	b.options.Targets = []string{l.Addr().String()}
	if _, err := b.run(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("the error is %v, want one that says that the connection was refused", err)
	}
}

func TestAnUnknownSubjectIsRefusedAtOnce(t *testing.T) {
	b := newBench(t, 0)
	b.experiment.Subjects = append(b.experiment.Subjects, "nobody")
	if _, err := b.run(t.Context(), nil); err == nil || !strings.Contains(err.Error(), `no subject "nobody"`) {
		t.Errorf("the error is %v", err)
	}
}

func TestATrialBehindAVethPair(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("network namespaces need root")
	}
	b := newBench(t, 0)
	b.options.Namespace = true
	no := false
	b.experiment.Twin = &no
	found, err := b.run(t.Context(), nil)
	must(t, err)
	for _, trial := range found.Trials {
		checkTrial(t, trial)
	}
	if left, _ := filepath.Glob(fmt.Sprintf("/run/netns/weir%d*", os.Getpid())); len(left) > 0 {
		t.Errorf("namespaces are left behind: %v", left)
	}
}

func TestWhatFitsIntoTheTime(t *testing.T) {
	for _, c := range []struct {
		limit, spent time.Duration
		ran, more    int
		want         bool
	}{
		{10 * time.Second, 4 * time.Second, 4, 6, true},
		{10 * time.Second, 4 * time.Second, 4, 7, false},
		{10 * time.Second, 11 * time.Second, 4, 0, false},
		{10 * time.Second, 10 * time.Second, 1000, 0, true},
	} {
		if got := fits(c.limit, c.spent, c.ran, c.more); got != c.want {
			t.Errorf("after %v for %d trials, %d more within %v: %v, want %v", c.spent, c.ran, c.more, c.limit, got, c.want)
		}
	}
}

// TestOnABusyMachineTheTimeStillHolds: a neighbour spoils every trial, and when the time is up each
// place of the first round has had its trial, none has had a second, and there is no second round.
func TestOnABusyMachineTheTimeStillHolds(t *testing.T) {
	b := newBench(t, 0)
	no := false
	b.experiment.Twin, b.experiment.Time, b.experiment.Blocks = &no, Duration(time.Nanosecond), 3
	b.experiment.Patterns = []string{"staggered", "poisson"}
	neighbour := exec.Command("sh", "-c", "while :; do :; done")
	must(t, neighbour.Start())
	defer func() {
		must(t, neighbour.Process.Kill())
		_ = neighbour.Wait() // it was killed
	}()
	r, err := NewRunner(t.Context(), b.experiment, b.options, nil)
	must(t, err)
	found, err := r.Run(t.Context())
	must(t, errors.Join(err, r.Close()))
	if len(found.Trials) != 4 {
		t.Errorf("%d trials, want the first round's 4", len(found.Trials))
	}
	for _, trial := range found.Trials {
		if trial.Accepted || trial.Attempt != 1 || trial.Block != 0 {
			t.Errorf("trial %d: accepted %v, attempt %d, block %d", trial.ID, trial.Accepted, trial.Attempt, trial.Block)
		}
	}
}
