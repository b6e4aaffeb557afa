package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"weir/lab/report/figure"
	"weir/lab/report/format"
	"weir/lab/result"
)

// Floor is the concurrency model of the subject that does the least possible work. The CPU
// of the others is given as a multiple of its CPU.
const Floor = "floor"

// floor returns the cell that the others are multiples of: the declared floor, or the lowest CPU if
// none is declared.
func (d *Digest) floor(g *Group) (c *Cell, declared bool) {
	for _, c := range g.Cells {
		if d.Subject(c.Subject).Paradigm == Floor && c.PerMessage.Known() {
			return c, true
		}
	}
	if len(g.Cells) > 0 && g.Cells[0].PerMessage.Known() {
		return g.Cells[0], false
	}
	return nil, false
}

// FloorSection shows the CPU as multiples of the floor, or else of the lowest, as explained by
// lowest. It shows the kernel events that are the reason, and more on them.
func (d *Digest) FloorSection(lowest string, more []Block) Section {
	s := Section{ID: "floor", Title: "How far above " + d.floorWord() + ", and why",
		How: "A multiple of 1 is " + d.floorMeaning(lowest) + ". System calls, wake-ups and context switches per " + d.Unit() + " explain the difference. They come from separate trials, whose CPU figures are not used."}
	top := d.Busiest()
	if len(top) == 0 {
		return s
	}
	if f := d.floorFigure(top); f != nil {
		s.Blocks = append(s.Blocks, Paragraph("%s", d.floorSentence(top)), Block{Figures: []*figure.Figure{f}})
	}
	if len(d.EventCounts) > 0 {
		s.Blocks = append(s.Blocks, Block{Table: d.reasonsTable()})
		s.Blocks = append(s.Blocks, more...)
		s.Blocks = append(s.Blocks, d.callsBlock())
	}
	if len(d.SwitchCosts) > 0 {
		s.Blocks = append(s.Blocks, Block{Table: d.switchTable()}, Paragraph("The column Switching is an estimate: a subject's context switches times the cost of one in isolation, between processes or between threads as in the concurrency model. It does not include cold caches."))
	}
	s.Blocks = append(s.Blocks, d.notesBlock()...)
	return s
}

// floorWord names the subject that the others are multiples of.
func (d *Digest) floorWord() string {
	if d.hasFloor() {
		return "the floor"
	}
	return "the lowest"
}

// floorMeaning explains a multiple of 1.
func (d *Digest) floorMeaning(lowest string) string {
	if d.hasFloor() {
		return "the CPU of the subject that does the least possible work"
	}
	return lowest
}

// hasFloor reports whether a subject of the run is a declared floor.
func (d *Digest) hasFloor() bool {
	return slices.ContainsFunc(d.Busiest(), func(g *Group) bool { _, declared := d.floor(g); return declared })
}

func (d *Digest) floorSentence(groups []*Group) string {
	c, declared := d.floor(groups[0])
	if c != nil && declared {
		return fmt.Sprintf("The floor is %s: %s.", c.Subject, cmp.Or(strings.TrimSuffix(d.Subject(c.Subject).About, "."), "the least that a server can do"))
	}
	return "No subject of this run is a floor. Multiples are of the lowest CPU under each arrival pattern."
}

func (d *Digest) floorFigure(groups []*Group) *figure.Figure {
	c := figure.Rows{Name: "floor", Title: "CPU per " + d.Unit() + " as a multiple of " + d.floorWord() + ", " + format.Connections(groups[0].Connections),
		Desc: "One row for each subject, one marker for each arrival pattern.", X: figure.Axis{Label: "times " + d.floorWord(), Log: true}, Mark: []float64{1}}
	rows := map[string]*figure.Row{}
	for i, g := range groups {
		c.Keys = append(c.Keys, figure.Key{Text: format.Pattern(g.Pattern), Shape: figure.ShapeOf(i), Role: figure.Series(i)})
		floor, _ := d.floor(g)
		if floor == nil {
			continue
		}
		for _, cell := range g.Cells {
			if rows[cell.Subject] == nil {
				rows[cell.Subject] = &figure.Row{Name: cell.Subject, Role: figure.Ink}
			}
			m := cell.PerMessage.Mean / floor.PerMessage.Mean
			row := rows[cell.Subject]
			row.Note = strings.TrimPrefix(row.Note+" / "+format.Times(m), " / ")
			row.Dots = append(row.Dots, figure.Dot{X: m, Shape: figure.ShapeOf(i), Role: figure.Series(i),
				Hover: fmt.Sprintf("%s, %s: %s times %s", cell.Subject, format.Pattern(g.Pattern), format.Times(m), floor.Subject)})
		}
	}
	for _, cell := range groups[0].Cells {
		if rows[cell.Subject] != nil {
			c.Rows = append(c.Rows, *rows[cell.Subject])
		}
	}
	if len(c.Rows) == 0 {
		return nil
	}
	return c.Draw()
}

// EventCount formats events per message; -1 means that the tool does not count them.
func EventCount(v float64) string {
	if v < 0 {
		return "not counted"
	}
	return format.Fixed(v, 2)
}

func (d *Digest) reasonsTable() *Table {
	t := &Table{Caption: "Kernel events per " + d.Unit(), Align: "lrlrrrrll", Head: []string{"Subject", "Connections", "Arrivals", "System calls", "Wake-ups", "Context switches", "Switching, µs of CPU per " + d.Unit(), "Counted by", "Note"}}
	for _, r := range d.EventCounts {
		t.Rows = append(t.Rows, []string{r.Subject, format.Count(r.Connections), format.Pattern(r.Pattern), EventCount(r.Syscalls), EventCount(r.Wakeups), EventCount(r.Switches), d.switching(r), r.Tool, r.Note})
	}
	return t.Trim()
}

// callsBlock lists the system calls by name, the most frequent first.
func (d *Digest) callsBlock() Block {
	var items []string
	for _, r := range d.EventCounts {
		names := slices.SortedFunc(maps.Keys(r.ByName), func(a, b string) int {
			return cmp.Or(cmp.Compare(r.ByName[b], r.ByName[a]), cmp.Compare(a, b))
		})
		var calls []string
		for _, n := range names[:min(len(names), 6)] {
			calls = append(calls, n+" "+format.Fixed(r.ByName[n], 2))
		}
		if len(calls) > 0 {
			items = append(items, fmt.Sprintf("%s, %s, %s: %s", r.Subject, format.Connections(r.Connections), format.Pattern(r.Pattern), strings.Join(calls, ", ")))
		}
	}
	return Block{Fold: "System calls per " + d.Unit() + " by name", Inside: []Block{{Items: items}}}
}

func (d *Digest) switchTable() *Table {
	t := &Table{Caption: "Cost of one switch on this machine", Align: "lrll", Head: []string{"Between", "Median, ns", "Fastest to slowest, ns", "Method"}}
	for _, c := range d.SwitchCosts {
		t.Rows = append(t.Rows, []string{c.Between, format.Short(c.NS), format.Short(c.Low) + " to " + format.Short(c.High), c.How})
	}
	return t
}

// switchCost returns the cost of one context switch for a concurrency model: between processes if
// it has a process per connection, else between threads.
func (d *Digest) switchCost(paradigm string) (result.SwitchCost, bool) {
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
func (d *Digest) switching(r result.EventCounts) string {
	cost, ok := d.switchCost(d.Subject(r.Subject).Paradigm)
	if !ok || r.Switches < 0 {
		return ""
	}
	var g *Group // the first load with the connections and pattern at which they were counted
	for _, other := range slices.Backward(d.Groups) {
		if other.Connections == r.Connections && other.Pattern == r.Pattern && other.Cell(r.Subject) != nil {
			g = other
		}
	}
	if g == nil || g.Cell(r.Subject) == nil || !g.Cell(r.Subject).PerMessage.Known() {
		return ""
	}
	return format.Sig(r.Switches*cost.NS/1000) + " of " + format.Sig(g.Cell(r.Subject).PerMessage.Mean)
}
