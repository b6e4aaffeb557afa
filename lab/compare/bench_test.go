package compare

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"golang.org/x/perf/benchfmt"
	"pgregory.net/rapid"

	"weir/lab/result"
)

// readBench parses the benchmark format and fails on any syntax error.
func readBench(t interface {
	Helper()
	Fatalf(string, ...any)
}, text []byte) (results []*benchfmt.Result, units benchfmt.UnitMetadataMap) {
	t.Helper()
	r := benchfmt.NewReader(bytes.NewReader(text), "bench.txt")
	for r.Scan() {
		switch rec := r.Result().(type) {
		case *benchfmt.Result:
			results = append(results, rec.Clone())
		case *benchfmt.SyntaxError:
			t.Fatalf("got the syntax error %v, want the format of benchmarks:\n%s", rec, text)
		}
	}
	if r.Err() != nil {
		t.Fatalf("reading the benchmarks: got error %v, want none", r.Err())
	}
	return results, r.Units()
}

func TestBenchReadsBack(t *testing.T) {
	run := makeResults(1, 2)
	run.Machine = result.Machine{Kernel: "6.18.0", CPU: "Some CPU @ 2 GHz"}
	run.Trials[3].Accepted = false // is left out
	var text bytes.Buffer
	if err := messages.WriteBench(&text, run); err != nil {
		t.Fatal(err)
	}
	got, units := readBench(t, text.Bytes())
	if want := len(run.Trials) - 1; len(got) != want {
		t.Fatalf("got %d lines, want one for each of the %d accepted trials", len(got), want)
	}
	// makeResults describes the experiment "im", whose name is written IM, with the workload
	// "sink".
	first, trial := got[0], run.Trials[0]
	if want := "IM/subject=" + trial.Subject + "/load=messages/conns=1/pattern=" + trial.Pattern; first.Name.String() != want {
		t.Errorf("got name %s, want %s", first.Name, want)
	}
	if v, ok := first.Value("us/msg"); !ok || math.Abs(v/trial.CPUUSPerMessage-1) > 1e-5 {
		t.Errorf("got %v us/msg, want %v", v, trial.CPUUSPerMessage)
	}
	if v, ok := first.Value("cpu-cv"); !ok || math.Abs(v/trial.CPUCV-1) > 1e-5 {
		t.Errorf("got %v cpu-cv, want %v", v, trial.CPUCV)
	}
	if first.GetConfig("workload") != "sink" || first.GetConfig("cpu") != "Some CPU @ 2 GHz" || first.GetConfig("seed") != "" {
		t.Errorf("got configuration %+v, want workload and cpu, and no seed, which would keep benchstat from comparing runs", first.Config)
	}
	if units.GetBetter("us/msg") != -1 {
		t.Error("got no unit line that says that less CPU is better, want one for us/msg")
	}
}

// TestAnUnknownVariationIsLeftOut checks that an unknown variation is not written as 0.
func TestAnUnknownVariationIsLeftOut(t *testing.T) {
	run := makeResults(1, 1)
	run.Trials[0].CPUCV = 0 // unknown: the trial had fewer than two windows
	var text bytes.Buffer
	if err := messages.WriteBench(&text, run); err != nil {
		t.Fatal(err)
	}
	got, _ := readBench(t, text.Bytes())
	if v, ok := got[0].Value("cpu-cv"); ok {
		t.Errorf("a trial with an unknown variation: got %v, want none", v)
	}
	if _, ok := got[1].Value("cpu-cv"); !ok {
		t.Error("the next trial, with a known variation: got none, want it")
	}
}

func TestBenchReadsBackWithAnyNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.String()
		run := &result.Results{
			Experiment: name.Draw(t, "experiment"), Command: name.Draw(t, "command"),
			Plan: result.Plan{Workload: name.Draw(t, "workload")}, Machine: result.Machine{CPU: name.Draw(t, "cpu")},
			Trials: []result.Trial{{Subject: name.Draw(t, "subject"), Load: name.Draw(t, "load"), Pattern: name.Draw(t, "pattern"), Accepted: true, CPUUSPerMessage: 8.5}},
		}
		var text bytes.Buffer
		if err := messages.WriteBench(&text, run); err != nil {
			t.Fatal(err)
		}
		got, _ := readBench(t, text.Bytes())
		if len(got) != 1 {
			t.Fatalf("got %d results of one trial, want 1:\n%s", len(got), text.Bytes())
		}
		if v, ok := got[0].Value("us/msg"); !ok || v != 8.5 {
			t.Fatalf("got %v us/msg, want 8.5", v)
		}
	})
}

func TestBenchNamesAreIdentifiers(t *testing.T) {
	for experiment, want := range map[string]string{
		"im": "IM", "im-published": "IMPublished", "my/own test.toml": "OwnTest", "": "Lab", "...": "Lab",
	} {
		if got := benchName(experiment); got != want {
			t.Errorf("experiment %q: got the name %s, want %s", experiment, got, want)
		}
	}
}

type full struct{}

var errFull = errors.New("no space left")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestBenchReportsAFullDisk(t *testing.T) {
	if err := messages.WriteBench(full{}, makeResults(1, 4)); !errors.Is(err, errFull) {
		t.Errorf("got %v, want %v", err, errFull)
	}
}
