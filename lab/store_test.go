package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/lab/result"
)

func newTestStore(t *testing.T) (*store, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	s, err := createStore(dir, head{Results: result.Results{Version: result.Version, Seed: 7}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.trials.Close() })
	return s, dir
}

func TestARunCutOffAtAnyByteKeepsItsFinishedTrials(t *testing.T) {
	s, dir := newTestStore(t)
	for id := 1; id <= 2; id++ {
		if err := s.add(result.Trial{ID: id, Subject: "a"}); err != nil {
			t.Fatal(err)
		}
	}
	whole, err := os.ReadFile(filepath.Join(dir, trialsFile))
	if err != nil {
		t.Fatal(err)
	}
	first := strings.Index(string(whole), "\n") + 1
	for cut := range len(whole) + 1 {
		if err := os.WriteFile(filepath.Join(dir, trialsFile), whole[:cut], 0o644); err != nil {
			t.Fatal(err)
		}
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
		if err := again.add(result.Trial{ID: want + 1}); err != nil {
			t.Fatal(err)
		}
		again.trials.Close()
		if trials, err := readTrials(filepath.Join(dir, trialsFile)); err != nil || len(trials) != want+1 {
			t.Fatalf("cut at byte %d: after one more trial there are %d (%v)", cut, len(trials), err)
		}
	}
}

func TestADirectoryWithARunIsNotOverwritten(t *testing.T) {
	_, dir := newTestStore(t)
	if _, err := createStore(dir, head{}); err == nil || !strings.Contains(err.Error(), "--resume") {
		t.Errorf("the error is %v, want one that names --resume", err)
	}
}

func TestNothingToResume(t *testing.T) {
	if _, _, err := openStore(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no run to resume") {
		t.Errorf("the error is %v", err)
	}
}

func TestAnUnwritableDirectoryIsNamedWithARemedy(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := createStore(filepath.Join(file, "run"), head{}); err == nil || !strings.Contains(err.Error(), "--out") {
		t.Errorf("the error is %v, want one that names --out", err)
	}
}
