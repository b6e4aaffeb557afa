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

// floorParadigm is the concurrency model of the subject that does the least possible work. The CPU
// of the others is given as a multiple of its CPU.
const floorParadigm = "floor"

// floor returns the cell that the others are multiples of: the declared floor, or the lowest CPU if
// none is declared.
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
		How: "A multiple of 1 is " + d.floorMeaning() + ". System calls, wake-ups and context switches per " + d.unit() + " explain the difference. They come from separate trials, whose CPU figures are not used."}
	top := d.busiest()
	if len(top) == 0 {
		return s
	}
	if f := d.floorFigure(top); f != nil {
		s.Blocks = append(s.Blocks, text("%s", d.floorSentence(top)), block{Figures: []*figure.Figure{f}})
	}
	if len(d.EventCounts) > 0 {
		s.Blocks = append(s.Blocks, block{Table: d.reasonsTable()})
		s.Blocks = append(s.Blocks, d.kind.reasonBlocks()...)
		s.Blocks = append(s.Blocks, d.callsBlock())
	}
	if len(d.SwitchCosts) > 0 {
		s.Blocks = append(s.Blocks, block{Table: d.switchTable()}, text("The column Switching is an estimate: a subject's context switches times the cost of one in isolation, between processes or between threads as in the concurrency model. It does not include cold caches."))
	}
	s.Blocks = append(s.Blocks, d.notesBlock()...)
	return s
}

// floorWord names the subject that the others are multiples of.
func (d *digest) floorWord() string {
	if d.hasFloor() {
		return "the floor"
	}
	return "the lowest"
}

// floorMeaning explains a multiple of 1.
func (d *digest) floorMeaning() string {
	if d.hasFloor() {
		return "the CPU of the subject that does the least possible work"
	}
	return d.kind.lowestMeaning()
}

// hasFloor reports whether a subject of the run is a declared floor.

func (d *digest) hasFloor() bool {
	return slices.ContainsFunc(d.busiest(), func(g *group) bool { _, declared := d.floor(g); return declared })
}

func (d *digest) floorSentence(groups []*group) string {
	c, declared := d.floor(groups[0])
	if c != nil && declared {
		return fmt.Sprintf("The floor is %s: %s.", c.subject, orElse(strings.TrimSuffix(d.subject(c.subject).About, "."), "the least that a server can do"))
	}
	return "No subject of this run is a floor. Multiples are of the lowest CPU under each arrival pattern."
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

// eventCount formats events per message; -1 means that the tool does not count them.
func eventCount(v float64) string {
	if v < 0 {
		return "not counted"
	}
	return fixed(v, 2)
}

func (d *digest) reasonsTable() *table {
	t := &table{Caption: "Kernel events per " + d.unit(), Align: "lrlrrrrll", Head: []string{"Subject", "Connections", "Arrivals", "System calls", "Wake-ups", "Context switches", "Switching, µs of CPU per " + d.unit(), "Counted by", "Note"}}
	for _, r := range d.EventCounts {
		t.Rows = append(t.Rows, []string{r.Subject, count(r.Connections), patternName(r.Pattern), eventCount(r.Syscalls), eventCount(r.Wakeups), eventCount(r.Switches), d.switching(r), r.Tool, r.Note})
	}
	return t.trim()
}

// callsBlock lists the system calls by name, the most frequent first.
func (d *digest) callsBlock() block {
	var items []string
	for _, r := range d.EventCounts {
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
	t := &table{Caption: "Cost of one switch on this machine", Align: "lrll", Head: []string{"Between", "Median, ns", "Fastest to slowest, ns", "Method"}}
	for _, c := range d.SwitchCosts {
		t.Rows = append(t.Rows, []string{c.Between, short(c.NS), short(c.Low) + " to " + short(c.High), c.How})
	}
	return t
}

// switchCost returns the cost of one context switch for a concurrency model: between processes if
// it has a process per connection, else between threads.
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

// switching estimates the CPU of a subject's context switches from the cost of one in isolation:
// "1.46 of 10.7". It is empty if either is unknown.
func (d *digest) switching(r result.EventCounts) string {
	cost, ok := d.switchCost(d.subject(r.Subject).Paradigm)
	if !ok || r.Switches < 0 {
		return ""
	}
	var g *group // the first load with the connections and pattern at which they were counted
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
