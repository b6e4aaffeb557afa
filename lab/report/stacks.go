package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"weir/lab/report/figure"
	"weir/lab/result"
)

// stackSections returns the sections of a report on TCP/IP stacks, whose operations differ from
// load to load.
func (d *digest) stackSections() []section {
	return []section{
		d.operationsSection(), d.growthSection(), d.coresSection(), d.ratiosSection(), d.controlSection(), d.rejectionsSection(), d.paperSection(), d.collectorSection(),
		d.memorySection(), d.subjectsSection(), d.machineSection(), d.stackLimitsSection(), d.commandSection(),
	}
}

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
		return sig(v) + " " + unit
	}
	if strings.HasPrefix(f.head, "Gbit") {
		return sig(v) + " " + f.head
	}
	return short(v) + " " + strings.ToLower(f.head)
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
func (d *digest) operationsSection() section {
	s := section{ID: "operations", Title: "Speed and CPU of each stack",
		How: "Means over the accepted trials. CPU is per operation, or for bulk data per gigabyte. Stack is the stack's process with its application, Peer is the load generator on the kernel's sockets, Machine is the whole machine. " +
			"The kernel carries a packet from a stack's device to the peer's socket in the stack's CPU time, and the kernel's own stack does much work in its peer's CPU time: compare the CPU of the machine. Lost counts pings without a reply in time, Retransmitted the segments that the peer sent again, both over all trials. " + d.correction(result.MetricRate) + " " + d.correction(result.MetricLatency)}
	for _, load := range d.loads() {
		switch o := d.loadOf(load).Operation; {
		case o.Name == result.OperationIdle:
			s.Blocks = append(s.Blocks, block{Table: d.idleTable(load)})
		default:
			s.Blocks = append(s.Blocks, block{Table: d.operationTable(load, o)})
		}
	}
	s.Blocks = slices.DeleteFunc(s.Blocks, func(b block) bool { return len(b.Table.Rows) == 0 })
	return s
}

// shortName returns a subject's name without the common prefix.
func shortName(subject string) string { return strings.TrimPrefix(subject, "stack-") }

// reference returns the stack that the others are compared with: stack-gvisor, or else the first.
func (d *digest) reference() string {
	if len(d.subjects) == 0 || slices.Contains(d.subjects, "stack-gvisor") {
		return "stack-gvisor"
	}
	return d.subjects[0]
}

// operationTable lists the subjects under one load, with a group of rows for each number of
// clients.
func (d *digest) operationTable(load string, o result.Operation) *table {
	first, metric := mainOf(o)
	unit, cpu := cpuOf(o)
	t := &table{Caption: upper(load) + ": " + describeOperation(d.loadOf(load)), Align: "lr", Head: []string{"Subject", clientsHead(o)}}
	column := func(head string) { t.Head, t.Align = append(t.Head, head), t.Align+"r" }
	column(first.head)
	column("95 % interval of the mean")
	column("Ratio to " + shortName(d.reference()))
	column("CPU, ratio to " + shortName(d.reference()))
	for _, f := range cpu {
		column(f.head + ", " + unit)
	}
	for _, head := range []string{"p50, µs", "p99, µs", "Lost", "Retransmitted", "Trials"} {
		column(head)
	}
	for _, g := range d.groups {
		if g.load != load {
			continue
		}
		t.Groups = append(t.Groups, len(t.Rows))
		for _, c := range d.inOrder(g) {
			t.add(d.operationRow(g, c, first, metric, cpu)...)
		}
	}
	if len(t.Groups) > 0 {
		t.Groups = t.Groups[1:]
	}
	return t.trim()
}

// inOrder returns the cells of a group in the order of the run's subjects.
func (d *digest) inOrder(g *group) []*cell {
	cells := slices.Clone(g.cells)
	slices.SortFunc(cells, func(a, b *cell) int { return a.index - b.index })
	return cells
}

func (d *digest) operationRow(g *group, c *cell, first stackFigure, metric string, cpu []stackFigure) []string {
	e := estimateOf(c.trials, first.of)
	row := []string{shortName(c.subject), count(g.connections), sig(e.mean), e.interval(), d.besideReference(metric, g, c), d.besideReference(result.MetricCPU, g, c)}
	for _, f := range cpu {
		row = append(row, sig(estimateOf(c.trials, f.of).mean))
	}
	if len(c.trials) == 0 {
		return append(row, absent, absent, absent, absent, c.counted())
	}
	us := func(of func(result.Percentiles) float64) string {
		v := median(c.trials, func(t *result.Trial) float64 { return of(t.LatencyUS) })
		if v == 0 {
			return absent
		}
		return sig(v)
	}
	return append(row, us(p50), us(p99), c.lost(), c.resent(), c.counted())
}

// besideReference compares a cell with the reference's, with interval and verdict: "1.7 (1.5 to
// 1.9), different".
func (d *digest) besideReference(metric string, g *group, c *cell) string {
	if c.subject == d.reference() || len(c.trials) == 0 {
		return absent
	}
	v, ok := d.versus(metric, g, c.subject, d.reference())
	if !ok {
		return absent
	}
	return ratioWithin(v) + ",\u00a0" + verdictWord(v)
}

// lost counts the pings of all trials without a reply.
func (c *cell) lost() string {
	var lost, due int64
	for _, t := range c.trials {
		lost, due = lost+stackOf(t).Lost, due+stackOf(t).Due
	}
	if due == 0 {
		return absent
	}
	return count(lost)
}

// resent counts the segments that the peer retransmitted in all trials.
func (c *cell) resent() string {
	var again, all int64
	for _, t := range c.trials {
		again, all = again+stackOf(t).Retransmitted, all+stackOf(t).SegmentsOut
	}
	if all == 0 {
		return absent
	}
	return count(again)
}

// idleTable lists the memory of an idle connection.
func (d *digest) idleTable(load string) *table {
	t := &table{Caption: upper(load) + ": memory per idle connection, KB", Align: "lrrrrr",
		Head: []string{"Subject", "Connections", "Process (PSS)", "Heap", "Goroutines' stacks", "Trials"}}
	for _, g := range d.groups {
		if g.load != load {
			continue
		}
		for _, c := range d.inOrder(g) {
			if len(c.trials) == 0 {
				continue
			}
			each := func(of func(*result.Trial) float64) string {
				return sig(median(c.trials, of) / float64(g.connections))
			}
			grown := func(of func(result.RuntimeStats) int64) func(*result.Trial) float64 {
				return func(t *result.Trial) float64 {
					s := stackOf(t)
					if s.Bare == nil || s.After == nil {
						return math.NaN()
					}
					return float64(of(*s.After)-of(*s.Bare)) / 1024
				}
			}
			t.add(shortName(c.subject), count(g.connections), each(func(t *result.Trial) float64 { return float64(t.Memory.PSSKB - stackOf(t).BarePSSKB) }),
				each(grown(func(c result.RuntimeStats) int64 { return c.HeapBytes })), each(grown(func(c result.RuntimeStats) int64 { return c.StackBytes })), c.counted())
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

// describeOperation describes a load.
func describeOperation(l result.Load) string {
	o := l.Operation
	words := map[string]string{
		result.OperationPing: fmt.Sprintf("one sender, %s pings/s of each flow, evenly spaced", short(l.Rate)), result.OperationConnect: "connect, transfer 4 kB, close, repeatedly",
		result.OperationIn: "bulk data to the stack", result.OperationOut: "bulk data from the stack", result.OperationBulk: "bulk data",
		result.OperationRR: "a byte to the stack and back, one at a time on each connection", result.OperationIdle: "idle connections",
	}[o.Name]
	if o.Processes {
		words = "one process of the system's ping for each flow, a ping per second each"
	}
	if o.Inside {
		words += ", over the stack's own loopback"
	}
	if o.Cores > 0 {
		words += fmt.Sprintf("; the stack on %s, its peer on the others", plural(o.Cores, "core", "cores"))
	}
	return words
}

// growthSection draws each load with several numbers of clients.
func (d *digest) growthSection() section {
	s := section{ID: "growth", Title: "With more clients",
		How: "Both scales are logarithmic; whiskers are 95 % confidence intervals. The paper's figure 3 is the mean time of pings, its figure 4 the throughput of connections of 4 kB."}
	var all []*figure.Figure
	for _, load := range d.loads() {
		o := d.loadOf(load).Operation
		if counts := d.connections(load); len(counts) > 1 && o.Name != result.OperationIdle {
			all = append(all, d.growth(load, o, counts))
		}
	}
	if len(all) > 0 {
		s.Blocks = []block{{Figures: all}}
	}
	return s
}

func (d *digest) growth(load string, o result.Operation, counts []int) *figure.Figure {
	f, _ := mainOf(o)
	x := connectionAxis(counts)
	x.Label = strings.ToLower(clientsHead(o))
	c := figure.Lines{Name: "growth-" + load, Title: upper(load) + ": " + f.head, Desc: "One curve for each subject, with 95 % confidence intervals.", X: x, Y: figure.Axis{Label: f.head, Log: true}}
	for i, subject := range d.subjects {
		curve := figure.Curve{Name: shortName(subject), Style: i}
		for _, g := range d.groups {
			if x := g.cell(subject); g.load == load && x != nil && len(x.trials) > 0 {
				e := estimateOf(x.trials, f.of)
				curve.Points = append(curve.Points, figure.XY{X: float64(g.connections), Y: e.mean, Low: e.low, High: e.high, Hover: fmt.Sprintf("%s, %s: %s", subject, count(g.connections), e)})
			}
		}
		c.Curves = append(c.Curves, curve)
	}
	return c.Draw()
}
