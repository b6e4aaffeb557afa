package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"weir/lab/report/figure"
	"weir/lab/result"
)

// floorParadigm marks the subject that does the least a server can do, to measure the others by.
const floorParadigm = "floor"

// floor is the cell that others are multiples of: the subject whose paradigm is "floor", else the
// cheapest.
func (d *digest) floor(g *group) (c *cell, declared bool) {
	for _, c := range g.cells {
		if d.subject(c.subject).Paradigm == floorParadigm && c.perMessage.known() {
			return c, true
		}
	}
	if len(g.cells) > 0 && g.cells[0].perMessage.known() {
		return g.cells[0], false
	}
	return nil, false
}

func (d *digest) floorSection() section {
	s := section{ID: "floor", Title: "How far above " + d.floorWord() + ", and why",
		How: "A multiple of 1 is " + d.floorMeaning() + ". System calls, wake-ups and context switches per " + d.unit() + " say where the rest goes; they come from trials of their own, whose CPU figures are not used."}
	top := d.busiest()
	if len(top) == 0 {
		return s
	}
	if f := d.floorFigure(top); f != nil {
		s.Blocks = append(s.Blocks, text("%s", d.floorSaid(top)), block{Figures: []*figure.Figure{f}})
	}
	if len(d.Reasons) == 0 {
		s.Blocks = append(s.Blocks, text("System calls and switches were not counted in this run. Without --no-reasons, and with strace or perf's tracepoints at hand, they are."))
	} else {
		s.Blocks = append(s.Blocks, block{Table: d.reasonsTable()})
		if !d.Plan.HTTP() {
			s.Blocks = append(s.Blocks, d.turnBlocks()...)
		}
		s.Blocks = append(s.Blocks, d.callsBlock())
	}
	if len(d.SwitchCosts) > 0 {
		s.Blocks = append(s.Blocks, block{Table: d.switchTable()}, text("The column on switching multiplies a subject's context switches by what one costs here in isolation, between processes where the paradigm uses them and else between threads: an estimate, which leaves out cold caches."))
	}
	s.Blocks = append(s.Blocks, d.notesBlock()...)
	return s
}

// floorWord names what others are multiples of, and floorMeaning says what that is worth.
func (d *digest) floorWord() string {
	if d.hasFloor() {
		return "the floor"
	}
	return "the cheapest"
}

func (d *digest) floorMeaning() string {
	if d.hasFloor() {
		return "the least that a server was seen to do here"
	}
	if d.Plan.HTTP() {
		return "the cheapest server of this run"
	}
	return "the cheapest server of this run, which a floor would undercut: c-splice is one"
}

func (d *digest) hasFloor() bool {
	return slices.ContainsFunc(d.busiest(), func(g *group) bool { _, declared := d.floor(g); return declared })
}

func (d *digest) floorSaid(groups []*group) string {
	c, declared := d.floor(groups[0])
	if c != nil && declared {
		return fmt.Sprintf("The floor is %s: %s.", c.subject, orElse(strings.TrimSuffix(d.subject(c.subject).About, "."), "the least that a server can do"))
	}
	return "No subject of this run is a floor, so the cheapest under each pattern stands for it."
}

func (d *digest) floorFigure(groups []*group) *figure.Figure {
	c := figure.Rows{Name: "floor", Title: "CPU per " + d.unit() + " as a multiple of " + d.floorWord() + ", " + conns(groups[0].connections),
		Desc: "One row for each subject, one marker for each arrival pattern.", X: figure.Axis{Label: "times " + d.floorWord(), Log: true}, Mark: []float64{1}}
	rows := map[string]*figure.Row{}
	for i, g := range groups {
		c.Keys = append(c.Keys, figure.Key{Text: patternName(g.pattern), Shape: figure.ShapeOf(i), Role: figure.Series(i)})
		floor, _ := d.floor(g)
		if floor == nil {
			continue
		}
		for _, cell := range g.cells {
			if rows[cell.subject] == nil {
				rows[cell.subject] = &figure.Row{Name: cell.subject, Role: figure.Ink}
			}
			m := cell.perMessage.mean / floor.perMessage.mean
			row := rows[cell.subject]
			row.Note = strings.TrimPrefix(row.Note+" / "+times(m), " / ")
			row.Dots = append(row.Dots, figure.Dot{X: m, Shape: figure.ShapeOf(i), Role: figure.Series(i),
				Hover: fmt.Sprintf("%s, %s: %s times %s", cell.subject, patternName(g.pattern), times(m), floor.subject)})
		}
	}
	for _, cell := range groups[0].cells {
		if rows[cell.subject] != nil {
			c.Rows = append(c.Rows, *rows[cell.subject])
		}
	}
	if len(c.Rows) == 0 {
		return nil
	}
	return c.Draw()
}

// seenCount is events per message; tools that cannot see an event say -1.
func seenCount(v float64) string {
	if v < 0 {
		return "not seen"
	}
	return fixed(v, 2)
}

func (d *digest) reasonsTable() *table {
	t := &table{Caption: "Kernel events per " + d.unit(), Align: "lrlrrrrll", Head: []string{"Subject", "Connections", "Arrivals", "System calls", "Wake-ups", "Context switches", "Switching, µs of CPU per " + d.unit(), "Counted by", "Note"}}
	for _, r := range d.Reasons {
		t.Rows = append(t.Rows, []string{r.Subject, count(r.Connections), patternName(r.Pattern), seenCount(r.Syscalls), seenCount(r.Wakeups), seenCount(r.Switches), d.switching(r), r.Tool, r.Note})
	}
	return t.trim()
}

// callsBlock names the system calls behind the counts, most frequent first.
func (d *digest) callsBlock() block {
	var items []string
	for _, r := range d.Reasons {
		names := slices.SortedFunc(maps.Keys(r.ByName), func(a, b string) int {
			return cmp.Or(cmp.Compare(r.ByName[b], r.ByName[a]), cmp.Compare(a, b))
		})
		var calls []string
		for _, n := range names[:min(len(names), 6)] {
			calls = append(calls, n+" "+fixed(r.ByName[n], 2))
		}
		if len(calls) > 0 {
			items = append(items, fmt.Sprintf("%s, %s, %s: %s", r.Subject, conns(r.Connections), patternName(r.Pattern), strings.Join(calls, ", ")))
		}
	}
	return block{Fold: "System calls per " + d.unit() + " by name", Inside: []block{{Items: items}}}
}

func (d *digest) switchTable() *table {
	t := &table{Caption: "What one switch costs on this machine", Align: "lrll", Head: []string{"Between", "Median, ns", "Fastest to slowest, ns", "How it was measured"}}
	for _, c := range d.SwitchCosts {
		t.Rows = append(t.Rows, []string{c.Between, short(c.NS), short(c.Low) + " to " + short(c.High), c.How})
	}
	return t
}

// switchCost is the cost of one kernel switch for a paradigm, in ns: that between processes where
// there is a process per connection, else that between threads.
func (d *digest) switchCost(paradigm string) (result.SwitchCost, bool) {
	want := "threads"
	if strings.Contains(paradigm, "process") {
		want = "processes"
	}
	i := slices.IndexFunc(d.SwitchCosts, func(c result.SwitchCost) bool { return c.Between == want })
	if i < 0 {
		return result.SwitchCost{}, false
	}
	return d.SwitchCosts[i], true
}

// switching estimates what a subject's switches would cost if each cost what it costs in isolation:
// "1.46 of 10.7". Empty where one of the two is not known.
func (d *digest) switching(r result.Reasons) string {
	cost, ok := d.switchCost(d.subject(r.Subject).Paradigm)
	if !ok || r.Switches < 0 {
		return ""
	}
	var g *group // the first load that comes so, where they were counted
	for _, other := range slices.Backward(d.groups) {
		if other.connections == r.Connections && other.pattern == r.Pattern && other.cell(r.Subject) != nil {
			g = other
		}
	}
	if g == nil || g.cell(r.Subject) == nil || !g.cell(r.Subject).perMessage.known() {
		return ""
	}
	return sig(r.Switches*cost.NS/1000) + " of " + sig(g.cell(r.Subject).perMessage.mean)
}
