package main

import (
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/lab/result"
)

// comparableRun makes the directory of a run in which subjects a and b cost 10 us and the given
// number.
func comparableRun(t *testing.T, b float64, change func(*result.Results)) string {
	t.Helper()
	r := &result.Results{
		Version: result.Version, Experiment: "im", Subjects: []result.Subject{{Name: "a"}, {Name: "b"}},
		Plan: result.Plan{Workload: "sink", Loads: []result.Load{{Name: "messages", Rate: 125, Size: 1000}}},
	}
	random := rand.New(rand.NewPCG(1, uint64(b)))
	for block := range 6 {
		for p, name := range []string{"a", "b", "b", "a"} {
			cost := map[string]float64{"a": 10, "b": b}[name] * (1 + 0.01*random.Float64())
			r.Trials = append(r.Trials, result.Trial{
				Subject: name, Load: "messages", Connections: 64, Pattern: "staggered",
				Block: block, Position: p, Accepted: true, CPUUSPerMessage: cost, CPUCV: 0.1 + 0.01*random.Float64(),
			})
		}
	}
	if change != nil {
		change(r)
	}
	dir := t.TempDir()
	if err := result.Write(dir, r); err != nil {
		t.Fatal(err)
	}
	return dir
}

// output runs a command with its standard output in a file, and gives what it wrote.
func output(t *testing.T, run func(context.Context, *terminal) error) (string, error) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	failed := run(t.Context(), newTerminal(f, f))
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(text), failed
}

func TestCompareSaysWhatChanged(t *testing.T) {
	cmd := compareCmd{A: comparableRun(t, 15, nil), B: comparableRun(t, 10, nil)}
	text, err := output(t, cmd.Run)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"messages on 64 connections, staggered", "not interleaved", "different", "CPU / CPU of a"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in:\n%s", want, text)
		}
	}
}

func TestCompareExitsByTheSecondRun(t *testing.T) {
	few := func(r *result.Results) { r.Trials = r.Trials[:4] }
	for _, c := range []struct {
		name          string
		first, second float64
		change        func(*result.Results)
		want          error
	}{
		{"cheaper", 15, 10, nil, nil},
		{"the same", 10, 10, nil, nil},
		{"dearer", 10, 15, nil, statusError(exitFailed)},
		{"one block", 10, 10.5, few, undecided},
	} {
		cmd := compareCmd{A: comparableRun(t, c.first, c.change), B: comparableRun(t, c.second, c.change)}
		if text, err := output(t, cmd.Run); err != c.want {
			t.Errorf("%s: got %v, want %v:\n%s", c.name, err, c.want, text)
		}
	}
}

func TestCompareWritesJSON(t *testing.T) {
	cmd := compareCmd{A: comparableRun(t, 15, nil), B: comparableRun(t, 10, nil), JSON: true}
	text, err := output(t, cmd.Run)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		A, B        string
		Comparisons []result.Comparison
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatalf("compare --json: got %v, want valid JSON in:\n%s", err, text)
	}
	if got.A != cmd.A || got.B != cmd.B || len(got.Comparisons) != 5 {
		t.Fatalf("got %+v, want both directories and 5 comparisons", got)
	}
	if c := got.Comparisons[1]; c.A != "b" || c.Verdict != "different" || c.Ratio < 1.4 || c.Ratio > 1.6 {
		t.Errorf("got %+v, want b to be different by half", c)
	}
}

func TestCompareRefusesRunsThatCannotBeCompared(t *testing.T) {
	good := comparableRun(t, 10, nil)
	damaged := t.TempDir()
	if err := os.WriteFile(filepath.Join(damaged, result.File), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, b, reference, want string
	}{
		{"no results", t.TempDir(), "", "no results.json in it"},
		{"damaged results", damaged, "", "is damaged"},
		{"another version", comparableRun(t, 10, func(r *result.Results) { r.Version++ }), "", "has schema version 2 and this program reads version 1"},
		{"nothing in common", comparableRun(t, 10, func(r *result.Results) { r.Subjects, r.Trials = nil, nil }), "", "no subject in common: A has a, b, B has none"},
		{"unknown reference", good, "unknown", `the reference "unknown" is not in both runs`},
	} {
		cmd := compareCmd{A: good, B: c.b, Reference: c.reference}
		text, err := output(t, cmd.Run)
		if err == nil || !strings.Contains(err.Error(), c.want) || text != "" {
			t.Errorf("%s: error %v and output %q, want %q and none", c.name, err, text, c.want)
		}
	}
}
