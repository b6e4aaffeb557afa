package stack

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"weir/lab/report"
	"weir/lab/result"
)

// stackRun returns a run of two stacks. stack-a does twice as much with half the CPU in every
// operation.
func stackRun() *result.Results {
	r := &result.Results{Version: result.Version, Experiment: "stack", Subjects: []result.Subject{{Name: "stack-a", Language: "Go"}, {Name: "stack-gvisor", Language: "Go"}},
		Plan: result.Plan{Workload: "stack", Connections: []int{1}, Patterns: []string{result.Closed, "staggered"}, Blocks: 6, Margin: 0.05, WindowMS: 500}}
	r.Plan.Loads = []result.Load{
		{Name: "pings", Rate: 10, Operation: result.Operation{Name: "ping"}}, {Name: "bulk", Operation: result.Operation{Name: "in"}},
		{Name: "bulk, one core", Operation: result.Operation{Name: "in", Cores: 1}}, {Name: "idle", Operation: result.Operation{Name: "idle"}},
		{Name: "connections", Operation: result.Operation{Name: "connect", Inside: true}}}
	random := rand.New(rand.NewPCG(1, 1))
	for block := range 6 {
		for _, l := range r.Plan.Loads {
			for _, n := range map[string][]int{"pings": {1, 1000}, "idle": {1000}}[l.Name] {
				stackBlock(r, l, n, block, random)
			}
			if l.Name != "pings" && l.Name != "idle" {
				stackBlock(r, l, 1, block, random)
			}
		}
	}
	r.Comparisons = Report{}.Compare().All(r)
	return r
}

func stackBlock(r *result.Results, l result.Load, n, block int, random *rand.Rand) {
	for p, name := range []string{"stack-a", "stack-gvisor", "stack-gvisor", "stack-a"} {
		noise := math.Exp(0.02 * random.NormFloat64())
		slower := 1.0
		if name == "stack-gvisor" {
			slower = 2
		}
		t := result.Trial{ID: len(r.Trials) + 1, Subject: name, Load: l.Name, Connections: n, Pattern: result.Closed, Block: block, Position: p, Accepted: true, WindowS: 2,
			Messages: int64(100_000 / slower * noise), CPUUSPerMessage: 10 * slower * noise, LoadUSPerMsg: 5, MachineUSPerMsg: 20,
			Memory: result.Memory{PSSKB: 1000 + int64(4000*slower)}}
		t.Stack = &result.OnStack{Operation: l.Operation.Name, GbitS: 20 / slower * noise, Congestion: "cubic", SegmentsOut: 1e6, Retransmitted: 3, BarePSSKB: 1000,
			Bare: &result.RuntimeStats{HeapBytes: 1 << 20}, Before: &result.RuntimeStats{HeapBytes: 1 << 20, Collections: 1}, After: &result.RuntimeStats{HeapBytes: 3 << 20, StackBytes: 1 << 20, Collections: 5, PausesNS: result.PausesNS{P99: 50_000, Max: 70_000}}}
		if !l.Operation.Bulk() && l.Name != "idle" {
			t.Stack.MeanUS, t.LatencyUS = 40*slower*noise, result.Percentiles{P50: 30 * slower, P99: 90}
		}
		if l.Name == "pings" {
			t.Pattern, t.Stack.Due, t.Stack.Lost = "staggered", 1000, 1
		}
		r.Trials = append(r.Trials, t)
	}
}

func TestStacksAreComparedInEveryOperation(t *testing.T) {
	d := digestOf(stackRun())
	tables := d.operationsSection().Blocks
	if len(tables) != 5 {
		t.Fatalf("got %d tables, want one for each load", len(tables))
	}
	for i, want := range []string{
		"a|1|~40|~0.5, different|~0.5, different|~10|5.00|20.0|30.0|90.0|12|36|12",
		"a|1|~20|~2, different|~0.5, different|~0.153|0.0763|0.305|36|12",
		"a|1|~20|~2, different|~0.5, different|~0.153|0.0763|0.305|36|12",
		"a|1,000|4.00|2.05|1.02|12",
		"a|1|~50,000|~2, different|~0.5, different|~10|30.0|90.0|36|12",
	} {
		table := tables[i].Table
		row := table.Rows[0]
		interval := 3 // left out: it depends on the noise
		if table.Head[3] == "95 % interval of the mean" {
			row = append(append([]string{}, row[:interval]...), row[interval+1:]...)
		}
		if got := strings.Join(row, "|"); !alike(got, want) {
			t.Errorf("%s: got the first row %s, want %s", table.Caption, got, want)
		}
	}
	if heads := strings.Join(tables[4].Table.Head, " "); strings.Contains(heads, "Peer") {
		t.Errorf("load inside the stack: got the columns %s, want none of a peer", heads)
	}
}

// bracketed matches the interval of a ratio, which depends on the noise.
var bracketed = regexp.MustCompile(` \([^)]* to [^)]*\)`)

// alike reports whether all fields are equal. Those that begin with ~ are compared as numbers, to a
// tenth and without interval.
func alike(got, want string) bool {
	a, b := strings.Split(got, "|"), strings.Split(want, "|")
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		about, ok := strings.CutPrefix(b[i], "~")
		if !ok && a[i] != b[i] || ok && !near(a[i], about) {
			return false
		}
	}
	return true
}

func near(got, want string) bool {
	gotNumber, gotWord, _ := strings.Cut(bracketed.ReplaceAllString(strings.ReplaceAll(got, "\u00a0", " "), ""), ", ")
	wantNumber, wantWord, _ := strings.Cut(want, ", ")
	a, b := figureOf(gotNumber), figureOf(wantNumber)
	return gotWord == wantWord && math.Abs(a-b) <= b/10
}

func TestTheAnswerOfStacksComparesOperations(t *testing.T) {
	said := strings.Join(digestOf(stackRun()).answer().Sentences, "\n")
	for _, want := range []string{"Pings, 1 flow: a ", " µs, ", " times gvisor (different), with 0.", "Bulk, 1 connection: a ", " Gbit/s, "} {
		if !strings.Contains(said, want) {
			t.Errorf("got an answer without %q:\n%s", want, said)
		}
	}
	if strings.Contains(said, "one core") || strings.Contains(said, "onnections, 1 client") {
		t.Errorf("got an answer with loads of other sections:\n%s", said)
	}
}

func TestOneCoreIsComparedWithAll(t *testing.T) {
	blocks := digestOf(stackRun()).coresSection().Blocks
	if len(blocks) != 1 || len(blocks[0].Table.Rows) != 2 || blocks[0].Table.Rows[0][0] != "bulk" || !near(blocks[0].Table.Rows[0][6], "1") {
		t.Errorf("got %+v, want a table with the ratio 1 for bulk", blocks)
	}
}

// written returns a file of the report of stackRun.
func written(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	if err := report.Write(dir, stackRun(), Report{}); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestTheWholeReportOfStacks(t *testing.T) {
	page := written(t, "report.md")
	for _, want := range []string{"With more clients", "Garbage collection", "GoNet, published", "CUBIC, set for each socket", "mean time"} {
		if !strings.Contains(page, want) {
			t.Errorf("got a report without %q", want)
		}
	}
	for _, not := range []string{"NaN", "requests/s", "requests per second", "per message"} {
		if strings.Contains(page, not) {
			at := strings.Index(page, not)
			t.Errorf("got %q in the report: %s", not, page[max(0, at-80):at+40])
		}
	}
}

// TestThePapersTableHasTheFiguresOfTheRun checks that pings by processes and pings of one sender
// are in separate rows, and that figures that the run did not measure have no row.
func TestThePapersTableHasTheFiguresOfTheRun(t *testing.T) {
	for processes, want := range map[bool]string{false: "Ping, 1 at once", true: "Ping by a process"} {
		r := stackRun()
		r.Plan.Loads[0].Operation.Processes = processes
		table := digestOf(r).paperSection().Blocks[0].Table
		var said []string
		for _, row := range table.Rows {
			said = append(said, strings.Join(row, "|"))
		}
		all := strings.Join(said, "\n")
		if len(said) != 3 || !strings.HasPrefix(said[0], want+", mean, ms|0.074|0.234|0.0") || !strings.Contains(all, "1,000") || strings.Contains(all, "100 clients") {
			t.Errorf("processes %t: got the rows %s", processes, all)
		}
	}
}

func TestTheTablesForLaTeXAreThoseOfThePage(t *testing.T) {
	text := written(t, "table.tex")
	if n := strings.Count(text, "\\begin{tabular}"); n != 5 || strings.Count(text, "\\label{tab_results}") != 1 || strings.Contains(text, "?") {
		t.Errorf("got %d tables, want 5: %s", n, text)
	}
}

func digestOf(r *result.Results) digest { return digest{report.NewDigest(r, Report{})} }

// figureOf parses a number as formatted in reports.
func figureOf(s string) float64 {
	v, err := strconv.ParseFloat(strings.ReplaceAll(s, ",", ""), 64)
	if err != nil {
		return math.NaN()
	}
	return v
}
