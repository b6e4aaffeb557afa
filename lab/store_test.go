package lab

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"weir/lab/result"
)

// newTestStore is a run that was begun with seed 7.
func newTestStore(t *testing.T) (*store, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	s, err := createStore(dir)
	must(t, err)
	t.Cleanup(s.close)
	must(t, s.begin(head{Results: result.Results{Version: result.Version, Seed: 7}}))
	return s, dir
}

func TestARunCutOffAtAnyByteKeepsItsFinishedTrials(t *testing.T) {
	s, dir := newTestStore(t)
	for id := 1; id <= 2; id++ {
		must(t, s.trials.add(result.Trial{ID: id, Subject: "a"}))
	}
	whole, err := os.ReadFile(filepath.Join(dir, trialsFile))
	must(t, err)
	first := strings.Index(string(whole), "\n") + 1
	for cut := range len(whole) + 1 {
		must(t, os.WriteFile(filepath.Join(dir, trialsFile), whole[:cut], 0o644))
		again, h, err := openStore(dir)
		if err != nil {
			t.Fatalf("cut at byte %d: %v", cut, err)
		}
		want := 0
		if cut >= first {
			want = 1
		}
		if cut == len(whole) {
			want = 2
		}
		if len(h.Results.Trials) != want || h.Results.Seed != 7 {
			t.Fatalf("cut at byte %d: %d trials and seed %d, want %d and 7", cut, len(h.Results.Trials), h.Results.Seed, want)
		}
		must(t, again.trials.add(result.Trial{ID: want + 1}))
		again.close()
		if again, h, err = openStore(dir); err != nil || len(h.Results.Trials) != want+1 {
			t.Fatalf("cut at byte %d: after one more trial there are %d (%v)", cut, len(h.Results.Trials), err)
		}
		again.close()
	}
}

func TestAnInterruptedRunKeepsWhatItFoundBesideItsTrials(t *testing.T) {
	s, dir := newTestStore(t)
	found := result.Results{Version: result.Version,
		Rulers:      []result.Ruler{{Name: "cgroup"}, {Name: "top"}},
		Reasons:     []result.Reasons{{Subject: "a", Syscalls: 3}},
		SwitchCosts: []result.SwitchCost{{Between: "threads", NS: 1200}},
		Skipped:     []result.Skip{{Subject: "b", Reason: "not installed"}},
		Notes:       []result.Note{{What: "system calls", Subject: "b", Why: "no strace"}},
		Portability: []result.Portability{{Subject: "a", Built: true}},
	}
	must(t, s.save(&found))
	again, h, err := openStore(dir)
	must(t, err)
	defer again.close()
	kept := result.Results{Version: result.Version, Rulers: h.Results.Rulers, Reasons: h.Results.Reasons,
		SwitchCosts: h.Results.SwitchCosts, Notes: h.Results.Notes, Skipped: h.Results.Skipped, Portability: h.Results.Portability}
	if !reflect.DeepEqual(kept, found) {
		t.Errorf("kept %+v of %+v", kept, found)
	}
	if h.Results.Seed != 7 {
		t.Errorf("the seed is %d, want the one that the run was begun with", h.Results.Seed)
	}
}

func TestADirectoryWithARunIsNotOverwritten(t *testing.T) {
	_, dir := newTestStore(t)
	if _, err := createStore(dir); err == nil || !strings.Contains(err.Error(), "--resume") {
		t.Errorf("the error is %v, want one that names --resume", err)
	}
}

func TestARunThatNeverBeganLeavesNothing(t *testing.T) {
	made := filepath.Join(t.TempDir(), "run")
	s, err := createStore(made)
	must(t, err)
	s.discard()
	if _, err := os.Stat(made); !os.IsNotExist(err) {
		t.Errorf("%s is still there (%v)", made, err)
	}
	theirs := t.TempDir()
	s, err = createStore(theirs)
	must(t, err)
	s.discard()
	if left, err := os.ReadDir(theirs); err != nil || len(left) > 0 {
		t.Errorf("a directory that was there before: %v is left in it (%v)", left, err)
	}
}

func TestNothingToResume(t *testing.T) {
	if _, _, err := openStore(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no run to resume") {
		t.Errorf("the error is %v", err)
	}
}

func TestDamageIsNamedWithARemedy(t *testing.T) {
	for _, c := range []struct{ file, text, want string }{
		{result.File, "{", "remove that file"},
		{trialsFile, "{}\nnot JSON\n{}\n", "trials.jsonl is damaged after 1 lines"},
	} {
		_, dir := newTestStore(t)
		must(t, os.WriteFile(filepath.Join(dir, c.file), []byte(c.text), 0o644))
		if _, _, err := openStore(dir); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: the error is %v, want one with %q", c.file, err, c.want)
		}
	}
}

func TestAnUnwritableDirectoryIsNamedWithARemedy(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o644))
	if _, err := createStore(filepath.Join(file, "run")); err == nil || !strings.Contains(err.Error(), "--out") {
		t.Errorf("the error is %v, want one that names --out", err)
	}
}
