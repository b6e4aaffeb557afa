package gallery

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"weir/lab/report"
	"weir/lab/report/format"
	"weir/lab/result"
)

// MaxRows limits the rows of a table.
const MaxRows = 5000

// A Gallery is a collection of runs. It does not change.
type Gallery struct {
	Columns  []Column
	Machines []Machine
	Loads    []Load
	Tables   []Table
	Problems []string // runs that are left out, each with the reason
}

// A Column is a run.
type Column struct {
	Name       string // the run's folder
	Machine    string // name of its Machine
	Experiment string
	Weir       string // version or commit of the lab
	Started    string // day and time, UTC
	Trials     string // accepted of all
	Settings   string // network, cores of the subject, length of windows
}

// A Machine is a machine with its software. Two kernels on one computer are two machines.
type Machine struct {
	Name    string // "M1"
	CPU     string
	Cores   int
	Memory  string
	Kernel  string
	Virtual string // "yes" or "no"
}

// A Load is a load that runs have in common.
type Load struct{ Workload, Name, About string }

// A Table has one metric in all runs.
type Table struct {
	ID, Title, How string
	Rows           []Row
	Omitted        int // rows beyond MaxRows
}

// A Row is one cell of experiments: a subject under a load.
type Row struct {
	Subject, Workload, Load, Pattern string
	Connections                      int
	Figures                          []Figure // by column
}

// A Figure is the figure of a row in one run.
type Figure struct {
	Known    bool
	Mean     float64
	Text     string // "8.31"
	Interval string // "8.10 to 8.52"; empty with fewer than two blocks
	Version  string // of the subject's runtime and of the lab
}

// metric is a property of trials.
type metric struct {
	id, title, how string
	of             func(*result.Trial) float64 // NaN: the trial does not have it
}

var metrics = []metric{
	{"cpu", "CPU per message", "Microseconds of CPU of the subject's whole process tree.", func(t *result.Trial) float64 { return over0(t.CPUUSPerMessage) }},
	{"latency", "Latency, 99th percentile", "Microseconds from the intended time of sending.", func(t *result.Trial) float64 { return over0(t.LatencyUS.P99) }},
	{"rate", "Messages per second", "Over all connections, in the measured window.", func(t *result.Trial) float64 { return over0(t.Rate()) }},
	{"memory", "Memory", "Megabytes at the peak, shared pages counted once for each process.", func(t *result.Trial) float64 { return over0(float64(t.Memory.PeakRSSKB) / 1024) }},
}

// over0 returns a value that was measured: 0 stands for none.
func over0(v float64) float64 {
	if v > 0 {
		return v
	}
	return math.NaN()
}

// New collects runs. problems are those of Read. kindOf returns the report's kind of a workload.
func New(runs []Run, problems []error, kindOf func(workload string) report.Kind) *Gallery {
	g := &Gallery{}
	for _, p := range problems {
		g.Problems = append(g.Problems, oneLine(p.Error()))
	}
	seen := map[[2]string]seenLoad{}
	var digests []*report.Digest
	for _, r := range runs {
		if why := g.addLoads(r, seen, kindOf(r.Results.Plan.Workload)); why != "" {
			g.Problems = append(g.Problems, oneLine(why))
			continue
		}
		g.Columns = append(g.Columns, g.column(r))
		digests = append(digests, report.NewDigest(r.Results, kindOf(r.Results.Plan.Workload)))
	}
	for _, m := range metrics {
		if t := tableOf(m, digests); len(t.Rows) > 0 {
			g.Tables = append(g.Tables, t)
		}
	}
	return g
}

// seenLoad is a load of an earlier run.
type seenLoad struct {
	dir  string
	load result.Load
}

// addLoads adds the loads of a run, unless one differs from that of an earlier run with the same
// workload and name. Then it returns which.
func (g *Gallery) addLoads(r Run, seen map[[2]string]seenLoad, kind report.Kind) (problem string) {
	plan := r.Results.Plan
	for _, l := range plan.Loads {
		before, ok := seen[[2]string{plan.Workload, l.Name}]
		if ok && before.load != l {
			return fmt.Sprintf("%s is left out: its load %q (%s) is another one than that of %s (%s): rename one of them, or make two galleries",
				r.Dir, l.Name, describe(kind, l, before.load), before.dir, describe(kind, before.load, l))
		}
	}
	for _, l := range plan.Loads {
		key := [2]string{plan.Workload, l.Name}
		if _, ok := seen[key]; !ok {
			seen[key] = seenLoad{r.Dir, l}
			g.Loads = append(g.Loads, Load{oneLine(plan.Workload), oneLine(l.Name), oneLine(kind.Describe(l))})
		}
	}
	return ""
}

// settings returns all settings of a load as text.
func settings(l result.Load) string {
	b, err := json.Marshal(l)
	if err != nil {
		return err.Error() // a number that JSON does not have, which no file contains
	}
	return string(b)
}

// describe returns a load in words, or all of its settings if the words are those of the other.
func describe(kind report.Kind, l, other result.Load) string {
	if words := kind.Describe(l); words != kind.Describe(other) {
		return words
	}
	return settings(l)
}

// column describes a run, and adds its machine.
func (g *Gallery) column(r Run) Column {
	x := r.Results
	accepted := 0
	for i := range x.Trials {
		if x.Trials[i].Accepted {
			accepted++
		}
	}
	network := "loopback"
	if x.Plan.Namespace {
		network = "veth"
	}
	return Column{
		Name: oneLine(r.Dir), Machine: g.machine(x.Machine), Experiment: oneLine(x.Experiment), Weir: oneLine(cmp.Or(x.Machine.Weir, format.Absent)),
		Started: x.Started.UTC().Format("2006-01-02 15:04"), Trials: fmt.Sprintf("%d of %d", accepted, len(x.Trials)),
		Settings: fmt.Sprintf("%s, %s for the subject, windows of %s s", network, format.Plural(len(x.Plan.ServerCPUs), "core", "cores"), format.Short(x.Plan.DurationS)),
	}
}

// machine returns the name of a machine, which it adds if it is new.
func (g *Gallery) machine(m result.Machine) string {
	n := Machine{CPU: oneLine(m.CPU), Cores: m.Cores, Memory: format.Bytes(int64(m.MemoryMB) << 20), Kernel: oneLine(m.Kernel), Virtual: map[bool]string{true: "yes", false: "no"}[m.Hypervisor]}
	for _, known := range g.Machines {
		if n.Name = known.Name; n == known {
			return n.Name
		}
	}
	n.Name = fmt.Sprintf("M%d", len(g.Machines)+1)
	g.Machines = append(g.Machines, n)
	return n.Name
}

// rowKey identifies a Row.
type rowKey struct {
	subject, workload, load, pattern string
	connections                      int
}

// tableOf returns the table of a metric. Rows without a figure are left out.
func tableOf(m metric, digests []*report.Digest) Table {
	t := Table{ID: m.id, Title: m.title, How: m.how}
	rows := map[rowKey]*Row{}
	for column, d := range digests {
		for _, group := range d.Groups {
			for _, c := range group.Cells {
				e := report.EstimateOf(c.Trials, m.of)
				if !e.Known() || m.id == "cpu" && d.Elsewhere(c.Subject) {
					continue
				}
				key := rowKey{c.Subject, d.Plan.Workload, group.Load, group.Pattern, group.Connections}
				if rows[key] == nil {
					rows[key] = &Row{oneLine(key.subject), oneLine(key.workload), oneLine(key.load), oneLine(key.pattern), key.connections, make([]Figure, len(digests))}
				}
				rows[key].Figures[column] = figureOf(e, versionOf(d, c.Subject))
			}
		}
	}
	for _, r := range rows {
		t.Rows = append(t.Rows, *r)
	}
	slices.SortFunc(t.Rows, func(a, b Row) int {
		return cmp.Or(strings.Compare(a.Workload, b.Workload), strings.Compare(a.Load, b.Load), cmp.Compare(a.Connections, b.Connections), strings.Compare(a.Pattern, b.Pattern), strings.Compare(a.Subject, b.Subject))
	})
	t.Omitted = max(0, len(t.Rows)-MaxRows)
	t.Rows = t.Rows[:len(t.Rows)-t.Omitted]
	return t
}

func figureOf(e report.Estimate, version string) Figure {
	f := Figure{Known: true, Mean: e.Mean, Text: format.Sig(e.Mean), Version: version}
	if e.HasInterval() {
		decimals := format.Decimals(e.Mean)
		f.Interval = format.Fixed(e.Low, decimals) + " to " + format.Fixed(e.High, decimals)
	}
	return f
}

// versionOf returns the version of a subject's runtime, and that of the lab, which is the commit of
// the project's own subjects.
func versionOf(d *report.Digest, subject string) string {
	var parts []string
	for _, v := range []string{d.Subject(subject).Version, d.Machine.Weir} {
		if v != "" {
			parts = append(parts, oneLine(v))
		}
	}
	return strings.Join(parts, ", ")
}

// maxText limits a text from a file, in characters.
const maxText = 1000

// oneLine returns a text without line breaks and control characters, of at most maxText characters.
func oneLine(s string) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f && r <= 0xa0 || r == '\ufeff' || r >= '\u202a' && r <= '\u202e'
	}), " ")
	if r := []rune(s); len(r) > maxText {
		return string(r[:maxText]) + "…"
	}
	return strings.ToValidUTF8(s, "\ufffd")
}
