package gate

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/lab/result"
)

var update = flag.Bool("update", false, "write the golden files")

// outcomeOf returns an outcome with a verdict for CPU per message.
func outcomeOf(verdict, reason string) *Outcome {
	return &Outcome{
		Verdict: verdict, Reason: reason, Base: &Build{Version: "main", Commit: "0123456789abcdef"}, Head: &Build{Version: "./new|`x`"},
		Load:   Load{Workload: "echo", Connections: 16, DurationS: 0.5, Settings: result.Load{Name: "messages", Rate: 250, Size: 1000}},
		Margin: 0.025, Confidence: 0.99, Planned: 40, Blocks: 21, Trials: 168, Disturbed: 90, TookS: 151.4,
		Metrics: []Judgement{
			{Name: MetricCPU, Title: "CPU per message", Unit: "us", Judged: true, Base: 25.3, Head: 26.9, Ratio: 1.063, Low: 1.031, High: 1.097, Verdict: verdict, Blocks: 21},
			{Name: MetricMemory, Title: "memory", Unit: "MB", Base: 3.52, Head: 3.53, Ratio: 1.003, Low: 0.98, High: 1.02, Verdict: NoWorse, Blocks: 14},
			{Name: MetricP50, Title: "median latency", Unit: "us", Base: 46180.4, Head: 130, Ratio: 1.08, Verdict: Undecided, Blocks: 21},
			{Name: MetricBinary, Title: "binary size", Unit: "MB", Base: 2.5, Head: 2.5, Ratio: 1, Low: 1, High: 1, Verdict: NoWorse},
		},
		Control: Judgement{Name: MetricCPU, Title: "CPU per message", Unit: "us", Ratio: 0.998, Low: 0.97, High: 1.03, Verdict: "same"},
		Machine: result.Machine{CPU: "A Processor", Cores: 2, Kernel: "6.18"}, Command: "weir lab gate main './new|`x`'",
	}
}

// everyOutcome has one of each verdict, with the warnings that belong to it.
func everyOutcome() map[string]*Outcome {
	worse, undecided, same := outcomeOf(Worse, ""), outcomeOf(Undecided, "the time ended before the planned number of blocks"), outcomeOf(NoWorse, "")
	undecided.Planned = 12
	same.Base, same.Baseline = nil, "v1.0 of 2026-11-28"
	for _, o := range []*Outcome{worse, undecided, same} {
		o.warn()
	}
	return map[string]*Outcome{"worse": worse, "undecided": undecided, "baseline": same}
}

func TestTitlesHaveTheLoadsWordForAMessage(t *testing.T) {
	for load, want := range map[string]string{"echo": "CPU per message", "get": "CPU per request", "chat": "CPU per delivery"} {
		e, err := ReadLoad(load)
		if err != nil {
			t.Fatal(err)
		}
		o := outcomeOf(Worse, "")
		o.nameMessages(e.Unit())
		if o.Metrics[0].Title != want || o.Control.Title != want || o.Metrics[1].Title != outcomeOf(Worse, "").Metrics[1].Title {
			t.Errorf("%s: got %q, %q and %q, want %q twice, and the third as it was", load, o.Metrics[0].Title, o.Control.Title, o.Metrics[1].Title, want)
		}
	}
}

func TestMarkdown(t *testing.T) {
	for name, o := range everyOutcome() {
		file := filepath.Join("testdata", name+".md")
		got := o.Markdown()
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("got:\n%s\nwant %s (go test ./lab/gate -update writes it):\n%s", got, file, want)
		}
	}
}

func TestLineIsOneLine(t *testing.T) {
	for name, o := range everyOutcome() {
		line := o.Line()
		for _, part := range []string{o.Verdict + ": CPU per message +6.3 %, 25.3 to 26.9 us", "99 % confidence +3.1 % to +9.7 %", "margin 2.5 %, 21 blocks in 2m31s", o.Reason} {
			if !strings.Contains(line, part) || strings.Contains(line, "\n") {
				t.Errorf("%s: got %q, want one line with %q", name, line, part)
			}
		}
	}
}

func TestJUnitIsXML(t *testing.T) {
	for name, want := range map[string][3]int{"worse": {1, 0, 3}, "undecided": {0, 1, 3}, "baseline": {0, 0, 3}} {
		text, err := everyOutcome()[name].JUnit()
		if err != nil {
			t.Fatal(err)
		}
		var s testSuite
		if err := xml.Unmarshal(text, &s); err != nil {
			t.Fatalf("%s: got %v, want XML:\n%s", name, err, text)
		}
		if got := [3]int{s.Failures, s.Errors, s.Skipped}; got != want || s.Tests != 4 || len(s.Cases) != 4 {
			t.Errorf("%s: got %v failures, errors and skipped of %d tests, want %v of 4:\n%s", name, got, s.Tests, want, text)
		}
	}
}

// TestAControlThatDiffersLeavesNoMetricPassed: continuous integration would show a success.
func TestAControlThatDiffersLeavesNoMetricPassed(t *testing.T) {
	o := outcomeOf(Undecided, "the A/A control differs")
	o.Metrics[0].Verdict, o.Control.Verdict = NoWorse, different
	if text, err := o.JUnit(); err != nil || !strings.Contains(string(text), `errors="1"`) {
		t.Errorf("got error %v and\n%s\nwant an error for the judged metric", err, text)
	}
}

// TestARecordedBaselineJudgesNothing: there is nothing to compare with.
func TestARecordedBaselineJudgesNothing(t *testing.T) {
	o := outcomeOf(Undecided, "")
	o.Base = nil
	for i := range o.Metrics {
		o.Metrics[i].Base, o.Metrics[i].Ratio, o.Metrics[i].High = 0, 0, 0
	}
	o.recorded()
	text, err := o.JUnit()
	if err != nil || !strings.Contains(string(text), `failures="0" errors="0" skipped="4"`) {
		t.Errorf("got error %v and\n%s\nwant four skipped metrics", err, text)
	}
	if md := o.Markdown(); strings.Contains(md, "BASE is") || !strings.Contains(md, "| CPU per message, us | none | 26.9 | none | none | not judged |") {
		t.Errorf("got\n%s\nwant no figures of BASE", md)
	}
}

func TestJSONHasTheVerdict(t *testing.T) {
	for name, o := range everyOutcome() {
		text, err := json.Marshal(o)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var back Outcome
		if err := json.Unmarshal(text, &back); err != nil || back.Verdict != o.Verdict || len(back.Metrics) != len(o.Metrics) {
			t.Errorf("%s: got %v (%+v), want what was written", name, err, back)
		}
	}
}

// TestAGateWithoutAnOutcomeHasReportsToo has an error with the output of a build.
func TestAGateWithoutAnOutcomeHasReportsToo(t *testing.T) {
	err := errors.New("gate: HEAD: build failed: cd /x && make\n<script>`x`</script> | \x1b[31mred\n]]>")
	var suite testSuite
	if bad := xml.Unmarshal(ErrorJUnit(err), &suite); bad != nil || suite.Errors != 1 || len(suite.Cases) != 1 || suite.Cases[0].Error == nil || !strings.Contains(suite.Cases[0].Error.Message, "<script>`x`</script>") {
		t.Errorf("got the JUnit report %+v (%v), want one error with the text", suite, bad)
	}
	want := "### Benchmark: no verdict\n\n- `gate: HEAD: build failed: cd /x && make`\n- `` <script>`x`</script> | \x1b[31mred ``\n- `]]>`\n"
	if got := ErrorMarkdown(err); got != want {
		t.Errorf("got the Markdown %q, want %q", got, want)
	}
}

// TestVersionsThatAnswerOtherwiseAreAWarning: a version that answers with less does less work.
func TestVersionsThatAnswerOtherwiseAreAWarning(t *testing.T) {
	trials := func(base, head int64) *result.Results {
		return &result.Results{Trials: []result.Trial{
			{Subject: baseName, Messages: 10, HTTP: &result.HTTP{BodyBytes: 10 * base}}, {Subject: baseName + againSuffix, Messages: 10, HTTP: &result.HTTP{BodyBytes: 10 * base}},
			{Subject: headName, Messages: 30, HTTP: &result.HTTP{BodyBytes: 30 * head}}, {Subject: headName + againSuffix},
		}}
	}
	for _, c := range []struct {
		base, head int64
		want       string
	}{
		{1000, 1000, ""}, {1000, 1001, ""}, {0, 0, ""}, {1000, 12, "BASE answers with 1000 bytes and HEAD with 12"}, {0, 1, "BASE answers with 0 bytes and HEAD with 1"},
	} {
		var o Outcome
		o.warnOfAnswers(trials(c.base, c.head))
		if got := strings.Join(o.Warnings, "\n"); !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%d and %d bytes: got the warning %q, want %q", c.base, c.head, got, c.want)
		}
	}
	var o Outcome
	if o.warnOfAnswers(&result.Results{Trials: []result.Trial{{Subject: baseName, Messages: 1}, {Subject: headName, Messages: 1}}}); len(o.Warnings) > 0 {
		t.Errorf("without requests: got the warnings %q, want none", o.Warnings)
	}
}
