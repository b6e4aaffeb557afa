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

	"weir/internal/freeport"
	"weir/lab/result"
	"weir/lab/workload"
	"weir/lab/workload/stream"
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
		Duration: workload.Duration(300 * time.Millisecond), Window: workload.Duration(100 * time.Millisecond), WarmLimit: workload.Duration(shortestWarmUp),
		Loads: []workload.Load{&stream.Load{Common: workload.Common{Name: "messages", Rate: 100}, Size: 100}},
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

// nothingLeft checks that no child process of this process, by any of its threads, is left
// unreaped.
func nothingLeft(t *testing.T) {
	t.Helper()
	lists, err := filepath.Glob("/proc/self/task/*/children")
	must(t, err)
	for _, list := range lists {
		if children, err := os.ReadFile(list); err == nil && len(children) > 0 {
			t.Errorf("got processes left behind: %s, want none", children)
		}
	}
}

func TestRunCompletesEveryPlaceAndStoresItsResults(t *testing.T) {
	b := newBench(t, 0, 0)
	b.experiment.Patterns = []string{"staggered", "poisson"}
	found, err := b.run(t.Context(), nil)
	must(t, err)
	kept, err := result.Read(b.options.Out)
	must(t, err)
	if len(kept.Trials) != len(found.Trials) || kept.Finished.IsZero() {
		t.Errorf("got %d trials and %d stored, finished %v, want all stored and a time at which the run finished", len(found.Trials), len(kept.Trials), kept.Finished)
	}
	complete := finishedPlaces(kept.Trials)
	want := 2 * (2 * 3) // patterns, and a palindrome of two subjects and the A/A control
	if len(complete) != want {
		t.Errorf("got %d finished places, want %d", len(complete), want)
	}
	for _, trial := range kept.Trials {
		checkTrial(t, trial)
	}
	if kept.Plan.AAControl == "" || len(kept.AccountingMethods) == 0 || !kept.AccountingMethods[0].Primary {
		t.Errorf("got A/A control %q, accounting methods %v, want a control, and first the primary method", kept.Plan.AAControl, kept.AccountingMethods)
	}
}

func checkTrial(t *testing.T, trial result.Trial) {
	t.Helper()
	if trial.Messages == 0 || trial.CPUPercentMean <= 0 || trial.CPUUSPerMessage <= 0 || trial.LoadUSPerMsg <= 0 || trial.MachineUSPerMsg <= 0 {
		t.Errorf("trial %d: got %+v, want messages and all CPU figures above 0", trial.ID, trial)
	}
	if trial.WarmMessages < 10 || len(trial.Samples) < 4 || trial.Memory.Processes != 1 || trial.WindowS < 0.3 {
		t.Errorf("trial %d: got %d warm messages, %d samples, %d processes, window of %v s, want at least 10, 4, exactly 1 and at least 0.3 s", trial.ID, trial.WarmMessages, len(trial.Samples), trial.Memory.Processes, trial.WindowS)
	}
	if trial.Accepted != (len(trial.RejectedBecause) == 0) {
		t.Errorf("trial %d: got accepted %v, reasons for rejection %v, want accepted only without a reason", trial.ID, trial.Accepted, trial.RejectedBecause)
	}
}

func TestInterruptedRunKeepsItsTrialsAndCanBeResumed(t *testing.T) {
	b := newBench(t, 0, 0)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	found, err := b.run(ctx, func(p Progress) {
		if p.Done == 3 {
			interrupt()
		}
	})
	if !errors.Is(err, context.Canceled) || len(finishedPlaces(found.Trials)) != 3 {
		t.Fatalf("got %d finished places and error %v, want 3 and context.Canceled", len(finishedPlaces(found.Trials)), err)
	}
	r, err := Resume(t.Context(), b.options.Out, b.options.Generator, nil)
	must(t, err)
	resumed, err := b.finish(t.Context(), r)
	must(t, err)
	if len(finishedPlaces(resumed.Trials)) != r.plan.Trials() {
		t.Errorf("after resuming: got %d finished places, want %d", len(finishedPlaces(resumed.Trials)), r.plan.Trials())
	}
	for i := range found.Trials {
		if resumed.Trials[i].Started.Sub(found.Trials[i].Started) != 0 {
			t.Errorf("trial %d was repeated, want it kept", i+1)
		}
	}
}

func TestSubjectThatExitsDuringTheRunIsNamed(t *testing.T) {
	b := newBench(t, 0, 5000)
	b.options.Seed, b.options.Attempts = 7, 1 // a trial of the other subject is first
	no := false
	b.experiment.AAControl = &no
	found, err := b.run(t.Context(), nil)
	if err == nil || !strings.Contains(err.Error(), "server-1") || !strings.Contains(err.Error(), "out of luck") {
		t.Errorf("got error %v, want one with the subject and its last line", err)
	}
	kept, readErr := result.Read(b.options.Out)
	must(t, readErr)
	if len(kept.Trials) != 1 || len(found.Trials) != 1 || !kept.Finished.IsZero() {
		t.Errorf("got %d of %d trials stored, finished %v, want the first trial, and no time of finishing: the run failed", len(kept.Trials), len(found.Trials), kept.Finished)
	}
}

func TestServerElsewhereIsMeasuredWithoutItsCPU(t *testing.T) {
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
	b.experiment.AAControl = &no
	b.options.Targets = []string{l.Addr().String()}
	found, err := b.run(t.Context(), nil)
	must(t, err)
	if !found.Subjects[0].Elsewhere {
		t.Error("got a subject with measured CPU, want it marked as running elsewhere")
	}
	for _, trial := range found.Trials {
		if trial.Messages == 0 || trial.CPUUSPerMessage != 0 {
			t.Errorf("trial %d: got %d messages at %v us of CPU each, want messages and no CPU: the lab did not start the subject", trial.ID, trial.Messages, trial.CPUUSPerMessage)
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

func TestUnreachableServerEndsTheRunWithTheReason(t *testing.T) {
	b := newBench(t)
	addr, err := freeport.Address("127.0.0.1")
	must(t, err)
	b.options.Targets = []string{addr}
	if _, err := b.run(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "refused") || strings.Contains(err.Error(), "generator") {
		t.Errorf("got error %v, want one with the words connection refused, and that blames no generator", err)
	}
}

func TestUnknownSubjectIsRejectedAtOnce(t *testing.T) {
	b := newBench(t, 0)
	b.experiment.Subjects = append(b.experiment.Subjects, "unknown")
	if _, err := b.run(t.Context(), nil); err == nil || !strings.Contains(err.Error(), `no subject "unknown"`) {
		t.Errorf("got error %v, want one that says no subject \"unknown\"", err)
	}
}

func TestTrialOverAVethPair(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("network namespaces need root")
	}
	b := newBench(t, 0)
	b.options.Namespace = true
	no := false
	b.experiment.AAControl = &no
	found, err := b.run(t.Context(), nil)
	must(t, err)
	for _, trial := range found.Trials {
		checkTrial(t, trial)
	}
	if left, _ := filepath.Glob(fmt.Sprintf("/run/netns/weir%d*", os.Getpid())); len(left) > 0 {
		t.Errorf("got namespaces left behind: %v, want none", left)
	}
}

func TestFitsTime(t *testing.T) {
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
		if got := fitsTime(c.limit, c.spent, c.ran, c.more); got != c.want {
			t.Errorf("after %v for %d trials, %d more within %v: got %v, want %v", c.spent, c.ran, c.more, c.limit, got, c.want)
		}
	}
}

// TestTimeLimitHoldsOnABusyMachine: a neighbour disturbs every trial. When the time is used up,
// each place of the first round has had its trial, none has been retried, and there is no second
// round.
func TestTimeLimitHoldsOnABusyMachine(t *testing.T) {
	b := newBench(t, 0)
	no := false
	b.experiment.AAControl, b.experiment.TimeLimit, b.experiment.Blocks = &no, workload.Duration(time.Nanosecond), 3
	b.experiment.Patterns = []string{"staggered", "poisson"}
	neighbour := exec.Command("sh", "-c", "while :; do :; done")
	must(t, neighbour.Start())
	defer func() {
		must(t, neighbour.Process.Kill())
		_ = neighbour.Wait() // it was killed
	}()
	var last Progress
	r, err := NewRunner(t.Context(), b.experiment, b.options, func(p Progress) {
		if p.Phase == "trial" {
			last = p
		}
	})
	must(t, err)
	found, err := r.Run(t.Context())
	must(t, errors.Join(err, r.Close()))
	if last.Done != 3 || last.Rejected != 3 {
		t.Errorf("during the last trial: got %d trials done and %d rejected, want 3 of each: a trial that is not retried is done", last.Done, last.Rejected)
	}
	if len(found.Trials) != 4 {
		t.Errorf("got %d trials, want the 4 of the first round", len(found.Trials))
	}
	for _, trial := range found.Trials {
		if trial.Accepted || trial.Attempt != 1 || trial.Block != 0 {
			t.Errorf("trial %d: got accepted %v, attempt %d, block %d, want a rejected first attempt in block 0", trial.ID, trial.Accepted, trial.Attempt, trial.Block)
		}
	}
}
