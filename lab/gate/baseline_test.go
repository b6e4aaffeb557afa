package gate

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"weir/lab/result"
)

// recordedOutcome is that of a gate with Config.Record.
func recordedOutcome(blocks int) *Outcome {
	o := outcomeOf(Recorded, "")
	o.noise, o.bytes = 0.04, 1<<20
	for range blocks {
		o.figures = append(o.figures, figures{MetricCPU: 12.5, MetricMemory: 4000})
	}
	return o
}

func TestABaselineIsReadAsItWasWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "baseline.json")
	o := recordedOutcome(MinBlocks)
	if err := o.WriteBaseline(file, 1); err != nil {
		t.Fatal(err)
	}
	b, err := ReadBaseline(file)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(b.Blocks, o.figures) || b.Machine.CPU != o.Machine.CPU || b.Noise != 0.04 || b.BinaryBytes != 1<<20 || b.Load != o.Load {
		t.Errorf("got %+v, want what was written", b)
	}
	if err := b.check(o.Machine, o.Load, 1); err != nil {
		t.Errorf("on the same machine: got %v, want no error", err)
	}
}

func TestAShortBaselineIsNotWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "baseline.json")
	if err := recordedOutcome(MinBlocks-1).WriteBaseline(file, 1); err == nil || !strings.Contains(err.Error(), "give more time") {
		t.Errorf("%d blocks: got %v, want an error that says what to do", MinBlocks-1, err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("got a file, want none")
	}
}

func TestABaselineOfAnotherKindOfMachineIsRefused(t *testing.T) {
	o := recordedOutcome(MinBlocks)
	b := Baseline{Load: o.Load, ServerCPUs: 1, Machine: o.Machine}
	for _, c := range []struct {
		name   string
		change func(m *result.Machine, l *Load, cpus *int)
		want   string
	}{
		{"another CPU", func(m *result.Machine, _ *Load, _ *int) { m.CPU = "B" }, "another kind of machine (CPU"},
		{"more cores", func(m *result.Machine, _ *Load, _ *int) { m.Cores = 64 }, "another kind of machine (number of cores"},
		{"another kernel", func(m *result.Machine, _ *Load, _ *int) { m.Kernel = "7.0" }, "another kind of machine (kernel"},
		{"another load", func(_ *result.Machine, l *Load, _ *int) { l.Connections = 1 }, "another load"},
		{"more cores for the server", func(_ *result.Machine, _ *Load, cpus *int) { *cpus = 2 }, "another load"},
	} {
		m, l, cpus := o.Machine, o.Load, 1
		c.change(&m, &l, &cpus)
		if err := b.check(m, l, cpus); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %q", c.name, err, c.want)
		}
	}
}

func TestDamagedBaselinesAreErrors(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"empty": "", "not JSON": "cpu 12", "a list": "[1]", "another version": `{"file_version": 99}`, "without blocks": `{"file_version": 1}`,
		"negative": `{"file_version": 1, "blocks": [` + strings.TrimSuffix(strings.Repeat(`{"cpu": -1},`, MinBlocks), ",") + `]}`,
	} {
		file := filepath.Join(dir, "baseline.json")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadBaseline(file); err == nil || !strings.Contains(err.Error(), "--write-baseline") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want one line that says how to write it again", name, err)
		}
	}
	if _, err := ReadBaseline(filepath.Join(dir, "none.json")); err == nil || !strings.Contains(err.Error(), "there is no baseline") {
		t.Errorf("a missing file: got %v, want an error that says so", err)
	}
}

// FuzzBaseline checks that a baseline that is accepted is written and read again as the same.
func FuzzBaseline(f *testing.F) {
	text, err := json.Marshal(Baseline{FileVersion: baselineVersion, Blocks: recordedOutcome(MinBlocks).figures})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"file_version": 1, "blocks": null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		b, err := parseBaseline("file", text)
		if err != nil {
			return
		}
		again, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		if c, err := parseBaseline("file", again); err != nil || !reflect.DeepEqual(b, c) {
			t.Errorf("got %+v (%v), want %+v", c, err, b)
		}
	})
}

func TestABaselineWithoutAJudgedMetricIsRefused(t *testing.T) {
	c := config(MetricCPU, MetricBinary)
	c.Baseline = &Baseline{Blocks: []figures{{MetricCPU: 12, MetricMemory: 4000}, {MetricCPU: 12}}}
	if err := c.checkBaseline(); err != nil {
		t.Errorf("got %v, want no error of metrics that each block has", err)
	}
	for _, name := range []string{MetricMemory, MetricP99} {
		c.Metrics = []string{MetricCPU, name}
		if err := c.checkBaseline(); err == nil || !strings.Contains(err.Error(), metricNamed(name).title) {
			t.Errorf("%s: got %v, want an error that names it", name, err)
		}
	}
	c.Baseline = nil
	if err := c.checkBaseline(); err != nil {
		t.Errorf("without a baseline: got %v, want no error", err)
	}
}

// TestABaselineThatNeverEndsIsNotRead: the path may be that of a pipe or a device.
func TestABaselineThatNeverEndsIsNotRead(t *testing.T) {
	if _, err := ReadBaseline("/dev/zero"); err == nil || !strings.Contains(err.Error(), "/dev/zero is no regular file") {
		t.Errorf("got %v, want an error that it is no regular file", err)
	}
}
