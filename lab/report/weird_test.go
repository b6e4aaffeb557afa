package report_test

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/lab"
	"weir/lab/compare"
	"weir/lab/report"
	"weir/lab/result"
)

// hostile names are meant to break out of the formats that they are written into. Some are names of
// real subjects, and the last has the suffix of an A/A control.
var hostile = []string{"c-fork", "go-goroutine", "published-c", "published-go", "", "<script>alert(1)</script>", `"'><img src=http://x>`, "a|b`c*_", "\x1b[31mred\x00\n\r\u2028",
	"=cmd()", `\input{/etc/passwd}%$&#_^~{}`, "日本語 😀", "\xff\xfe", strings.Repeat("long", 60), "x+twin"}

var numbers = rapid.OneOf(rapid.Float64(), rapid.Float64Range(0, 1000),
	rapid.SampledFrom([]float64{0, math.NaN(), math.Inf(1), math.Inf(-1), -1, math.MaxFloat64, 5e-324, 1e300}))

var texts = rapid.OneOf(rapid.SampledFrom(hostile), rapid.StringMatching(`[ -~\x00-\x1f]{0,20}`))

// anyResults draws results that no run would write: absurd numbers, hostile names, missing parts.
func anyResults(t *rapid.T) *result.Results {
	names := rapid.SliceOfN(rapid.SampledFrom(hostile), 1, 4).Draw(t, "names")
	r := &result.Results{Version: result.Version, Experiment: texts.Draw(t, "experiment"), Question: texts.Draw(t, "question"), Command: texts.Draw(t, "command"),
		Plan: result.Plan{Patterns: []string{"staggered", "together"}, WindowMS: numbers.Draw(t, "window"), Margin: numbers.Draw(t, "margin"),
			Loads: []result.Load{{Name: "messages", Rate: numbers.Draw(t, "rate"), Size: rapid.Int().Draw(t, "size"), Bits: numbers.Draw(t, "bits")}}},
		AccountingMethods: []result.AccountingMethod{{Name: "true", Primary: rapid.Bool().Draw(t, "primary")}, {Name: names[0]}}}
	r.Plan.Workload = rapid.SampledFrom([]string{"sink", "echo", "files", "chat", "stack"}).Draw(t, "workload")
	if r.Plan.Workload == "files" {
		r.Plan.Loads = append(anyRequests(t, "messages"), anyRequests(t, "tcpkali")...)
	}
	for range rapid.IntRange(0, 12).Draw(t, "trials") {
		r.Trials = append(r.Trials, anyTrial(t, names))
	}
	for _, n := range names {
		r.Subjects = append(r.Subjects, result.Subject{Name: n, Paradigm: rapid.SampledFrom([]string{"floor", "event loop", "process per connection"}).Draw(t, "paradigm"),
			Differs: n, About: n, Elsewhere: rapid.Bool().Draw(t, "elsewhere"), BinaryBytes: rapid.Int64().Draw(t, "bytes")})
	}
	r.Comparisons = compare.Kind{}.All(r)
	others(t, r, names)
	return r
}

func anyRequests(t *rapid.T, name string) []result.Load {
	small := rapid.SampledFrom([]int{-1, 0, 1, 10, math.MaxInt})
	return []result.Load{{Name: name, Rate: rapid.OneOf(rapid.Just(10.0), numbers).Draw(t, "rate"), Requests: result.Requests{Path: texts.Draw(t, "path"), Count: small.Draw(t, "count"),
		SleepMS: small.Draw(t, "sleep"), SleepEvery: small.Draw(t, "every"), Filters: rapid.SampledFrom([]int{0, 1}).Draw(t, "filters"), Gzip: rapid.Bool().Draw(t, "gzip")}}}
}

func anyTrial(t *rapid.T, names []string) result.Trial {
	x := result.Trial{Subject: rapid.SampledFrom(names).Draw(t, "subject"), Load: rapid.SampledFrom([]string{"messages", "tcpkali", "<b>"}).Draw(t, "load"),
		Connections: rapid.SampledFrom([]int{-1, 0, 1, 8, 64, math.MaxInt}).Draw(t, "connections"), Pattern: rapid.SampledFrom([]string{"staggered", "together", "closed", "odd/../x"}).Draw(t, "pattern"),
		Block: rapid.IntRange(0, 2).Draw(t, "block"), Accepted: rapid.Bool().Draw(t, "accepted"),
		CPUPercentMean: numbers.Draw(t, "percent"), CPUCV: numbers.Draw(t, "cv"), CPUUSPerMessage: numbers.Draw(t, "us"), LoadUSPerMsg: numbers.Draw(t, "load us"),
		MachineUSPerMsg: numbers.Draw(t, "machine us"), ColdUSPerMsg: numbers.Draw(t, "cold"), AchievedRatio: numbers.Draw(t, "achieved"),
		Memory: result.Memory{PSSKB: rapid.Int64().Draw(t, "pss")}, CPUByMethod: map[string]float64{names[0]: numbers.Draw(t, "cpu by method")}, Started: time.Unix(rapid.Int64Range(-1e12, 1e12).Draw(t, "started"), 0)}
	if rapid.Bool().Draw(t, "has requests") {
		x.Messages, x.WindowS = rapid.Int64().Draw(t, "messages"), numbers.Draw(t, "window s")
		x.LatencyUS = result.Percentiles{P50: numbers.Draw(t, "p50"), P99: numbers.Draw(t, "p99")}
		x.HTTP = &result.HTTP{Attempted: rapid.Int64().Draw(t, "attempted"), Failed: rapid.Int64().Draw(t, "failed"), Errors: map[string]int64{names[0]: rapid.Int64().Draw(t, "errors")}}
	}
	if !x.Accepted {
		x.RejectedBecause = []string{texts.Draw(t, "reason")}
	}
	for range rapid.IntRange(0, 20).Draw(t, "samples") {
		x.Samples = append(x.Samples, result.Sample{AtMS: numbers.Draw(t, "at"), CPUNS: rapid.Int64().Draw(t, "ns")})
	}
	return x
}

// others adds the parts of results that are not trials.
func others(t *rapid.T, r *result.Results, names []string) {
	for _, n := range names {
		v := numbers.Draw(t, "v")
		r.Comparisons = append(r.Comparisons, result.Comparison{A: n, B: names[0], Metric: "cpu_us_per_message", Load: "messages", Connections: 64, Pattern: "together", Pairs: rapid.IntRange(-1, 3).Draw(t, "pairs"),
			Ratio: v, Low: numbers.Draw(t, "low"), High: numbers.Draw(t, "high"), VerdictLow: numbers.Draw(t, "verdict's low"), VerdictHigh: numbers.Draw(t, "verdict's high"), P: v, Verdict: rapid.SampledFrom([]string{"different", "equivalent", "undecided", "", "<i>"}).Draw(t, "verdict"), AAControl: rapid.Bool().Draw(t, "A/A control"), Warning: n})
		r.EventCounts = append(r.EventCounts, result.EventCounts{Subject: n, Connections: 64, Pattern: n, Syscalls: v, Wakeups: -1, Switches: v, ByName: map[string]float64{n: v}, Note: n})
		r.Portability = append(r.Portability, result.Portability{Subject: n, Target: n, Built: rapid.Bool().Draw(t, "built"), Note: n})
		r.Saturation = append(r.Saturation, result.Saturation{Subject: n, SharePercent: v, CPUCV: v, LatencyUS: result.Percentiles{P99: v}, Accepted: rapid.Bool().Draw(t, "saturation accepted"), RejectedBecause: []string{n}, FailedBecause: []string{n}})
		r.Probes = append(r.Probes, result.Probe{Subject: n, Load: n, Pattern: n, Connections: 8, Rate: numbers.Draw(t, "rate"), KeptUp: rapid.Bool().Draw(t, "kept"), GeneratorBound: rapid.Bool().Draw(t, "bound"), LatencyP99US: v, DisturbedBy: []string{n}})
		r.Skipped = append(r.Skipped, result.Skip{Subject: n, Reason: n})
		r.Notes = append(r.Notes, result.Note{What: n, Subject: n, Reason: n})
	}
	r.SwitchCosts = []result.SwitchCost{{Between: "threads", NS: numbers.Draw(t, "switch")}, {Between: "processes", NS: numbers.Draw(t, "switch")}}
}

// TestAnyResultsGiveAReport checks that any results give a well-formed report in every format,
// without an element or an escape sequence from a name.
func TestAnyResultsGiveAReport(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := anyResults(t)
		kind := lab.ReportKind(r.Plan.Workload)
		out, err := report.Render(r, kind)
		if err != nil {
			t.Fatal(err)
		}
		if err := report.Balanced(out.Page); err != nil {
			t.Fatal(err)
		}
		for _, bad := range []string{"<script", "<img", "<b>", "<i>", "NaN", "+Inf", "-Inf"} {
			if bytes.Contains(out.Page, []byte(bad)) {
				t.Fatalf("got %s in the page", bad)
			}
		}
		for _, f := range out.Figures {
			if err := report.WellFormed(f.SVG()); err != nil {
				t.Fatalf("figure %s: %v", f.Name, err)
			}
			if f.Name != report.Slug(f.Name) {
				t.Fatalf("got the figure name %q, want a file name", f.Name)
			}
		}
		if err := checkTexts(out.Markdown, out.TeX, out.CSV); err != nil {
			t.Fatal(err)
		}
		var screen bytes.Buffer
		report.Terminal(&screen, r, kind, false, rapid.IntRange(-5, 200).Draw(t, "width"))
		if i := strings.IndexFunc(screen.String(), func(c rune) bool { return c < ' ' && c != '\n' }); i >= 0 {
			t.Fatalf("got a control character at byte %d of %q", i, screen.String())
		}
	})
}

// checkTexts returns an error if a name has become an element in Markdown (outside code, which is
// indented), a command in TeX or a formula in comma-separated values.
func checkTexts(markdown, table, trials []byte) error {
	for line := range strings.Lines(string(markdown)) {
		if !strings.HasPrefix(line, "    ") && (strings.Contains(line, "<script") || strings.Contains(line, "<img")) {
			return fmt.Errorf("got the Markdown line %q, want no element from a name", line)
		}
	}
	if bytes.Contains(table, []byte(`\input`)) {
		return fmt.Errorf("got \\input in the TeX table, want it escaped:\n%s", table)
	}
	rows, err := csv.NewReader(bytes.NewReader(trials)).ReadAll()
	if err != nil {
		return err
	}
	for _, row := range rows { // the reader requires as many fields in each row as in the first
		for _, field := range row {
			if strings.HasPrefix(field, "=") || strings.HasPrefix(field, "@") {
				return fmt.Errorf("got the CSV field %q, want no formula", field)
			}
		}
	}
	return nil
}

// TestAnyFigureGivesAPDF draws one figure of each case, because PDFs are slow.
func TestAnyFigureGivesAPDF(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := anyResults(t)
		out, err := report.Render(r, lab.ReportKind(r.Plan.Workload))
		if err != nil {
			t.Fatal(err)
		}
		if len(out.Figures) == 0 {
			return
		}
		if _, err := rapid.SampledFrom(out.Figures).Draw(t, "figure").PDF(); err != nil {
			t.Fatal(err)
		}
	})
}
