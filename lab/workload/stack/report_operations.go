package stack

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"weir/lab/report"
	"weir/lab/report/figure"
	"weir/lab/report/format"
	"weir/lab/result"
)

// stackOf returns a trial's stack figures, or zeros if it has none.
func stackOf(t *result.Trial) result.OnStack {
	if t.Stack == nil {
		return result.OnStack{}
	}
	return *t.Stack
}

// stackFigure is a figure of a trial on a stack.
type stackFigure struct {
	head string // "Gbit/s", "Mean, µs"
	of   func(*result.Trial) float64
}

// say formats a value with its unit: "36 Gbit/s", "25 µs".
func (f stackFigure) say(v float64) string {
	if _, unit, ok := strings.Cut(f.head, ", "); ok {
		return format.Sig(v) + " " + unit
	}
	if strings.HasPrefix(f.head, "Gbit") {
		return format.Sig(v) + " " + f.head
	}
	return format.Short(v) + " " + strings.ToLower(f.head)
}

// perGB converts microseconds of CPU per bulk message to seconds per gigabyte.
const perGB = 1e9 / result.BulkMessage / 1e6

// mainOf returns the main figure of an operation, and the metric in which it is compared.
func mainOf(o result.Operation) (stackFigure, string) {
	switch {
	case o.Bulk():
		return stackFigure{"Gbit/s", func(t *result.Trial) float64 { return stackOf(t).GbitS }}, result.MetricRate
	case o.Name == result.OperationConnect:
		return stackFigure{"Connections/s", (*result.Trial).Rate}, result.MetricRate
	}
	return stackFigure{"Mean, µs", func(t *result.Trial) float64 { return stackOf(t).MeanUS }}, result.MetricLatency
}

// cpuOf returns the CPU figures of an operation: of the stack, its peer and the machine.
func cpuOf(o result.Operation) (unit string, all []stackFigure) {
	unit, factor := "µs", 1.0
	if o.Bulk() {
		unit, factor = "s/GB", perGB
	}
	of := func(v func(*result.Trial) float64) func(*result.Trial) float64 {
		return func(t *result.Trial) float64 { return factor * v(t) }
	}
	all = []stackFigure{{"Stack", of(func(t *result.Trial) float64 { return t.CPUUSPerMessage })}}
	if !o.Inside {
		all = append(all, stackFigure{"Peer", of(func(t *result.Trial) float64 { return t.LoadUSPerMsg })}, stackFigure{"Machine", of(func(t *result.Trial) float64 { return t.MachineUSPerMsg })})
	}
	return unit, all
}

// operationsSection has a table for each load.
func (d digest) operationsSection() report.Section {
	s := report.Section{ID: "operations", Title: "Speed and CPU of each stack",
		How: "Means over the accepted trials. CPU is per operation, or for bulk data per gigabyte. Stack is the stack's process with its application, Peer is the load generator on the kernel's sockets, Machine is the whole machine. " +
			"The kernel carries a packet from a stack's device to the peer's socket in the stack's CPU time, and the kernel's own stack does much work in its peer's CPU time: compare the CPU of the machine. Lost counts pings without a reply in time, Retransmitted the segments that the peer sent again, both over all trials. " + d.Correction(result.MetricRate) + " " + d.Correction(result.MetricLatency)}
	for _, t := range d.operationTables() {
		s.Blocks = append(s.Blocks, report.Block{Table: t})
	}
	return s
}

// operationTables returns a table for each load that has trials.
func (d digest) operationTables() []*report.Table {
	var tables []*report.Table
	for _, load := range d.Loads() {
		o := d.LoadOf(load).Operation
		t := d.operationTable(load, o)
		if o.Name == result.OperationIdle {
			t = d.idleTable(load)
		}
		if len(t.Rows) > 0 {
			tables = append(tables, t)
		}
	}
	return tables
}

// shortName returns a subject's name without the common prefix.
func shortName(subject string) string { return strings.TrimPrefix(subject, "stack-") }

// reference returns the stack that the others are compared with: stack-gvisor, or else the first.
func (d digest) reference() string {
	if len(d.Names) == 0 || slices.Contains(d.Names, "stack-gvisor") {
		return "stack-gvisor"
	}
	return d.Names[0]
}

// operationTable lists the subjects under one load, with a group of rows for each number of
// clients.
func (d digest) operationTable(load string, o result.Operation) *report.Table {
	first, metric := mainOf(o)
	unit, cpu := cpuOf(o)
	t := &report.Table{Caption: format.Upper(load) + ": " + d.Describe(load), Align: "lr", Head: []string{"Subject", clientsHead(o)}}
	heads := []string{first.head, "95 % interval of the mean", "Ratio to " + shortName(d.reference()), "CPU, ratio to " + shortName(d.reference())}
	for _, f := range cpu {
		heads = append(heads, f.head+", "+unit)
	}
	for _, head := range append(heads, "p50, µs", "p99, µs", "Lost", "Retransmitted", "Trials") {
		t.AddColumn(head, 'r')
	}
	for _, g := range d.Under(load) {
		t.StartGroup()
		for _, c := range d.inOrder(g) {
			e := report.EstimateOf(c.Trials, first.of)
			row := []string{shortName(c.Subject), format.Count(g.Connections), format.Sig(e.Mean), e.Interval(), d.besideReference(metric, g, c), d.besideReference(result.MetricCPU, g, c)}
			for _, f := range cpu {
				row = append(row, format.Sig(report.EstimateOf(c.Trials, f.of).Mean))
			}
			t.Add(append(row, positive(1000*c.Millis(report.P50)), positive(1000*c.Millis(report.P99)), lost(c), resent(c), c.Counted())...)
		}
	}
	return t.Trim()
}

// inOrder returns the cells of a group in the order of the run's subjects.
func (d digest) inOrder(g *report.Group) []*report.Cell {
	cells := slices.Clone(g.Cells)
	slices.SortFunc(cells, func(a, b *report.Cell) int { return a.Index - b.Index })
	return cells
}

// positive formats v, which is unknown if it is 0.
func positive(v float64) string {
	if v == 0 {
		return format.Absent
	}
	return format.Sig(v)
}

// besideReference compares a cell with the reference's, with interval and verdict: "1.7 (1.5 to
// 1.9), different".
func (d digest) besideReference(metric string, g *report.Group, c *report.Cell) string {
	if c.Subject == d.reference() || len(c.Trials) == 0 {
		return format.Absent
	}
	v, ok := d.Versus(metric, g, c.Subject, d.reference())
	if !ok {
		return format.Absent
	}
	return report.RatioWithin(v) + ",\u00a0" + report.VerdictWord(v)
}

// lost counts the pings of all trials without a reply.
func lost(c *report.Cell) string {
	return ofAll(c, func(s result.OnStack) (int64, int64) { return s.Lost, s.Due })
}

// resent counts the segments that the peer retransmitted in all trials.
func resent(c *report.Cell) string {
	return ofAll(c, func(s result.OnStack) (int64, int64) { return s.Retransmitted, s.SegmentsOut })
}

// ofAll formats a count over all trials; it is absent if there was nothing to count.
func ofAll(c *report.Cell, of func(result.OnStack) (n, all int64)) string {
	n, all := int64(0), int64(0)
	for _, t := range c.Trials {
		some, more := of(stackOf(t))
		n, all = n+some, all+more
	}
	if all == 0 {
		return format.Absent
	}
	return format.Count(n)
}

// idleTable lists the memory of an idle connection.
func (d digest) idleTable(load string) *report.Table {
	t := &report.Table{Caption: format.Upper(load) + ": memory per idle connection, KB", Align: "lrrrrr",
		Head: []string{"Subject", "Connections", "Process (PSS)", "Heap", "Goroutines' stacks", "Trials"}}
	for _, g := range d.Under(load) {
		for _, c := range d.inOrder(g) {
			if len(c.Trials) == 0 {
				continue
			}
			each := func(kb func(*result.Trial) float64) string {
				return format.Sig(report.Median(c.Trials, kb) / float64(g.Connections))
			}
			grown := func(of func(result.RuntimeStats) int64) string {
				return each(func(t *result.Trial) float64 {
					s := stackOf(t)
					if s.Bare == nil || s.After == nil {
						return math.NaN()
					}
					return float64(of(*s.After)-of(*s.Bare)) / 1024
				})
			}
			t.Add(shortName(c.Subject), format.Count(g.Connections), each(func(t *result.Trial) float64 { return float64(t.Memory.PSSKB - stackOf(t).BarePSSKB) }),
				grown(func(s result.RuntimeStats) int64 { return s.HeapBytes }), grown(func(s result.RuntimeStats) int64 { return s.StackBytes }), c.Counted())
		}
	}
	return t
}

// clientsHead is the heading for the number of connections of a load.
func clientsHead(o result.Operation) string {
	switch {
	case o.Processes:
		return "Processes"
	case o.Name == result.OperationPing:
		return "Flows"
	case o.Name == result.OperationConnect:
		return "Clients"
	}
	return "Connections"
}

// growthSection draws each load with several numbers of clients.
func (d digest) growthSection() report.Section {
	s := report.Section{ID: "growth", Title: "With more clients",
		How: "Both scales are logarithmic; whiskers are 95 % confidence intervals. The paper's figure 3 is the mean time of pings, its figure 4 the throughput of connections of 4 kB."}
	var all []*figure.Figure
	for _, load := range d.Loads() {
		o := d.LoadOf(load).Operation
		if counts := d.ConnectionsOf(load); len(counts) > 1 && o.Name != result.OperationIdle {
			all = append(all, d.growth(load, o, counts))
		}
	}
	s.Blocks = []report.Block{{Figures: all}}
	return s
}

func (d digest) growth(load string, o result.Operation, counts []int) *figure.Figure {
	f, _ := mainOf(o)
	x := report.ConnectionAxis(counts)
	x.Label = strings.ToLower(clientsHead(o))
	c := figure.Lines{Name: "growth-" + load, Title: format.Upper(load) + ": " + f.head, Desc: "One curve for each subject, with 95 % confidence intervals.", X: x, Y: figure.Axis{Label: f.head, Log: true},
		Curves: d.Curves(func(g *report.Group, c *report.Cell) (figure.XY, bool) {
			e := report.EstimateOf(c.Trials, f.of)
			return e.Point(float64(g.Connections), fmt.Sprintf("%s, %s: %s", c.Subject, format.Count(g.Connections), e)), g.Load == load
		})}
	for i := range c.Curves {
		c.Curves[i].Name = shortName(c.Curves[i].Name)
	}
	return c.Draw()
}
