package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"weir/lab/result"
)

// newTestStore returns the store of a run that was started with seed 7.
func newTestStore(t *testing.T) (*store, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	s, err := createStore(dir)
	must(t, err)
	t.Cleanup(s.close)
	must(t, s.writeHead(runHead{Results: result.Results{Version: result.Version, Seed: 7}, Experiment: *validExperiment(t)}))
	return s, dir
}

func validExperiment(t *testing.T) *Experiment {
	t.Helper()
	e, err := ReadExperiment("im")
	must(t, err)
	must(t, e.Validate())
	return e
}

func TestRunTruncatedAtAnyByteKeepsItsFinishedTrials(t *testing.T) {
	s, dir := newTestStore(t)
	for id := 1; id <= 2; id++ {
		must(t, s.trials.add(result.Trial{ID: id, Subject: "a"}))
	}
	s.close()
	whole, err := os.ReadFile(filepath.Join(dir, trialsFile))
	must(t, err)
	first := strings.Index(string(whole), "\n") + 1
	for cut := range len(whole) + 1 {
		must(t, os.WriteFile(filepath.Join(dir, trialsFile), whole[:cut], 0o644))
		again, h, err := openStore(dir)
		if err != nil {
			t.Fatalf("cut at byte %d: got error %v, want the finished trials", cut, err)
		}
		want := 0
		if cut >= first {
			want = 1
		}
		if cut == len(whole) {
			want = 2
		}
		if len(h.Results.Trials) != want || h.Results.Seed != 7 {
			t.Fatalf("cut at byte %d: got %d trials and seed %d, want %d and 7", cut, len(h.Results.Trials), h.Results.Seed, want)
		}
		must(t, again.trials.add(result.Trial{ID: want + 1}))
		again.close()
		if again, h, err = openStore(dir); err != nil || len(h.Results.Trials) != want+1 {
			t.Fatalf("cut at byte %d: got %d trials after one more, error %v; want %d", cut, len(h.Results.Trials), err, want+1)
		}
		again.close()
	}
}

func TestInterruptedRunKeepsItsOtherFindings(t *testing.T) {
	s, dir := newTestStore(t)
	found := result.Results{Version: result.Version,
		AccountingMethods: []result.AccountingMethod{{Name: "cgroup"}, {Name: "top"}},
		EventCounts:       []result.EventCounts{{Subject: "a", Syscalls: 3}},
		SwitchCosts:       []result.SwitchCost{{Between: "threads", NS: 1200}},
		Skipped:           []result.Skip{{Subject: "b", Reason: "not installed"}},
		Notes:             []result.Note{{What: "system calls", Subject: "b", Reason: "no strace"}},
		Portability:       []result.Portability{{Subject: "a", Built: true}},
		Agents:            []result.Agent{{Name: "a", Cores: 2}},
	}
	must(t, s.save(&found))
	s.close()
	again, h, err := openStore(dir)
	must(t, err)
	defer again.close()
	kept := result.Results{Version: result.Version, AccountingMethods: h.Results.AccountingMethods, EventCounts: h.Results.EventCounts,
		SwitchCosts: h.Results.SwitchCosts, Notes: h.Results.Notes, Skipped: h.Results.Skipped, Portability: h.Results.Portability, Agents: h.Results.Agents}
	if !reflect.DeepEqual(kept, found) {
		t.Errorf("got %+v, want %+v", kept, found)
	}
	if h.Results.Seed != 7 {
		t.Errorf("got seed %d, want the one of the run's start", h.Results.Seed)
	}
}

func TestDirectoryWithARunIsNotOverwritten(t *testing.T) {
	_, dir := newTestStore(t)
	if _, err := createStore(dir); err == nil || !strings.Contains(err.Error(), "--resume") {
		t.Errorf("got error %v, want one with --resume", err)
	}
}

func TestRunThatDidNotStartLeavesNothing(t *testing.T) {
	made := filepath.Join(t.TempDir(), "run")
	s, err := createStore(made)
	must(t, err)
	s.discard()
	if _, err := os.Stat(made); !os.IsNotExist(err) {
		t.Errorf("%s of a run that did not start: got error %v for it, want it removed", made, err)
	}
	theirs := t.TempDir()
	s, err = createStore(theirs)
	must(t, err)
	s.discard()
	if left, err := os.ReadDir(theirs); err != nil || len(left) > 0 {
		t.Errorf("an existing directory: got %v left in it (%v), want nothing", left, err)
	}
}

func TestDirectoryWithoutARunIsNotResumed(t *testing.T) {
	if _, _, err := openStore(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no run to resume") {
		t.Errorf("an empty directory: got error %v, want one that says %q", err, "no run to resume")
	}
}

func TestDamagedFileIsNamedWithARemedy(t *testing.T) {
	for _, c := range []struct{ file, text, want string }{
		{result.File, "{", "remove that file"},
		{result.File, fmt.Sprintf(`{"version":%d,"started":"2026-01-02T03:04:05Z"}`, result.Version), "results.json is of another run: remove that file"},
		{trialsFile, "{\"id\":1}\nnot JSON\n{}\n", "trials.jsonl is damaged after 1 lines"},
		{trialsFile, "not JSON\n", "remove the rest of it to continue with those"},
		{trialsFile, "{\"id\":1}\n{\"id\":1}\n", "line 2 of trials.jsonl has trial 1"},
		{headFile, "{", "run.json is damaged: unexpected end"},
		{headFile, fmt.Sprintf(`{"Results":{"version":%d},"Experiment":{"Workload":"sink","Loads":[]}}`, result.Version), "run.json is damaged: lab: "},
	} {
		s, dir := newTestStore(t)
		s.close()
		must(t, os.WriteFile(filepath.Join(dir, c.file), []byte(c.text), 0o644))
		if _, _, err := openStore(dir); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got error %v, want one with %q", c.file, err, c.want)
		}
	}
}

func TestUnwritableDirectoryIsNamedWithARemedy(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o644))
	if _, err := createStore(filepath.Join(file, "run")); err == nil || !strings.Contains(err.Error(), "--out") {
		t.Errorf("got error %v, want one with --out", err)
	}
}

// TestARunWithoutATrialLeavesItsDirectoryFree: the usual cause is a mistake in a command, and the
// corrected command line has the same directory.
func TestARunWithoutATrialLeavesItsDirectoryFree(t *testing.T) {
	b := newBench(t, 0, 0)
	b.change("0", "\nready = \"line: never\"\n")
	b.options.Out = filepath.Join(t.TempDir(), "run")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range 2 {
		_, err := b.run(ctx, func(p Progress) {
			if p.Phase == "trial" {
				cancel()
			}
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got error %v, want %v", err, context.Canceled)
		}
		if _, err := os.Stat(b.options.Out); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("got the directory (error %v), want none", err)
		}
	}
}

// TestARunIsOfOneProcess: the lines of two would mix, and a new run that did not start removes its
// files.
func TestARunIsOfOneProcess(t *testing.T) {
	s, dir := newTestStore(t)
	if _, _, err := openStore(dir); !errors.Is(err, errInUse) {
		t.Errorf("a run that is going on: got error %v, want %v", err, errInUse)
	}
	s.close()
	again, _, err := openStore(dir)
	must(t, err)
	again.close()
	preparing := filepath.Join(t.TempDir(), "run")
	first, err := createStore(preparing)
	must(t, err)
	defer first.close()
	if _, err := createStore(preparing); !errors.Is(err, errInUse) {
		t.Errorf("a run that is being prepared: got error %v, want %v", err, errInUse)
	}
}

// TestAJournalThatWasRemovedIsNotTaken: its trials would be lost.
func TestAJournalThatWasRemovedIsNotTaken(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), trialsFile))
	must(t, err)
	defer f.Close()
	must(t, os.Remove(f.Name()))
	if _, err := restore[result.Trial](f); !errors.Is(err, errInUse) {
		t.Errorf("got error %v, want %v", err, errInUse)
	}
}

// TestANewRunHasNoTrialsOfAnother: it appends to the journals, and would take all for its own.
func TestANewRunHasNoTrialsOfAnother(t *testing.T) {
	for _, name := range journals {
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, name), []byte("{}\n"), 0o644))
		if _, err := createStore(dir); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got error %v, want one that names it", name, err)
		}
	}
}

// TestAJournalThatCannotBeReadIsNotTruncated: what follows may be whole.
func TestAJournalThatCannotBeReadIsNotTruncated(t *testing.T) {
	broken := errors.New("input/output error")
	from := io.MultiReader(strings.NewReader("{}\n{"), iotest.ErrReader(broken))
	if values, _, err := readLines[result.Trial](from); !errors.Is(err, broken) || len(values) != 0 {
		t.Errorf("got %d values, error %v; want %v", len(values), err, broken)
	}
}
