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
	known := selected(g.Cells, func(c *Cell) bool { return c.PerMessage.Known() })
	if c := find(known, func(c *Cell) bool { return d.Subject(c.Subject).Paradigm == Floor }); c != nil {
		return c, true
	}
	if len(known) > 0 {
		return known[0], false
	}
	return nil, false
}

// FloorSection shows the CPU as multiples of the floor, or else of the lowest, as explained by
// lowest. It shows the kernel events that are the reason, and more on them.
func (d *Digest) FloorSection(lowest string, more []Block) Section {
	word := "the lowest"
	if slices.ContainsFunc(d.Busiest(), func(g *Group) bool { _, declared := d.floor(g); return declared }) {
		word, lowest = "the floor", "the CPU of the subject that does the least possible work"
	}
	s := Section{ID: "floor", Title: "How far above " + word + ", and why",
		How: "A multiple of 1 is " + lowest + ". System calls, wake-ups and context switches per " + d.Unit() + " explain the difference. They come from separate trials, whose CPU figures are not used."}
	if len(d.Groups) == 0 {
		return s
	}
	if f := d.floorFigure(word); f != nil {
		s.Blocks = append(s.Blocks, Block{Text: d.floorSentence()}, Figures(f))
	}
	if len(d.EventCounts) > 0 {
		s.Blocks = append(s.Blocks, slices.Concat([]Block{{Table: d.eventsTable()}}, more, []Block{d.callsBlock()})...)
	}
	if len(d.SwitchCosts) > 0 {
		s.Blocks = append(s.Blocks, Block{Table: d.switchTable()}, Paragraph("The column Switching is an estimate: a subject's context switches times the cost of one in isolation, between processes or between threads as in the concurrency model. It does not include cold caches."))
	}
	s.Blocks = append(s.Blocks, Block{Items: d.notes()})
	return s
}

func (d *Digest) floorSentence() string {
	c, declared := d.floor(d.Busiest()[0])
	if declared {
		return fmt.Sprintf("The floor is %s: %s.", c.Subject, cmp.Or(strings.TrimSuffix(d.Subject(c.Subject).About, "."), "the least that a server can do"))
	}
	return "No subject of this run is a floor. Multiples are of the lowest CPU under each arrival pattern."
}

// floorFigure shows the multiples of the busiest groups, in the order of the first.
func (d *Digest) floorFigure(word string) *figure.Figure {
	groups := d.Busiest()
	c := figure.Rows{Name: "floor", Title: "CPU per " + d.Unit() + " as a multiple of " + word + ", " + format.Connections(groups[0].Connections),
		Desc: "One row for each subject, one marker for each arrival pattern.", X: figure.Axis{Label: "times " + word, Log: true}, Mark: []float64{1}}
	for i, g := range groups {
		c.Keys = append(c.Keys, figure.Key{Text: format.Pattern(g.Pattern), Shape: figure.ShapeOf(i), Role: figure.Series(i)})
	}
	for _, first := range groups[0].Cells {
		row := figure.Row{Name: first.Subject, Role: figure.Ink}
		var notes []string
		for i, g := range groups {
			floor, _ := d.floor(g)
			cell := g.Cell(first.Subject)
			if floor == nil || cell == nil {
				continue
			}
			m := cell.PerMessage.Mean / floor.PerMessage.Mean
			notes = append(notes, format.Times(m))
			row.Dots = append(row.Dots, figure.SeriesDot(i, m, fmt.Sprintf("%s, %s: %s times %s", cell.Subject, format.Pattern(g.Pattern), format.Times(m), floor.Subject)))
		}
		if row.Note = strings.Join(notes, " / "); len(notes) > 0 {
			c.Rows = append(c.Rows, row)
		}
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

func (d *Digest) eventsTable() *Table {
	t := &Table{Caption: "Kernel events per " + d.Unit(), Align: "lrlrrrrll", Head: []string{"Subject", "Connections", "Arrivals", "System calls", "Wake-ups", "Context switches", "Switching, µs of CPU per " + d.Unit(), "Counted by", "Note"}}
	for _, r := range d.EventCounts {
		t.Add(r.Subject, format.Count(r.Connections), format.Pattern(r.Pattern), EventCount(r.Syscalls), EventCount(r.Wakeups), EventCount(r.Switches), d.switching(r), r.Tool, r.Note)
	}
	return t
}

// callsBlock lists the six most frequent system calls by name.
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
		t.Add(c.Between, format.Short(c.NS), format.Short(c.Low)+" to "+format.Short(c.High), c.How)
	}
	return t
}

// switching estimates the CPU of a subject's context switches from the cost of one in isolation:
// "1.46 of 10.7". The cost is that between processes if the subject has one per connection, else
// that between threads. It is empty if either is unknown.
func (d *Digest) switching(r result.EventCounts) string {
	between := "threads"
	if strings.Contains(d.Subject(r.Subject).Paradigm, "process") {
		between = "processes"
	}
	i := slices.IndexFunc(d.SwitchCosts, func(c result.SwitchCost) bool { return c.Between == between })
	g := find(d.Groups, func(g *Group) bool {
		return g.Connections == r.Connections && g.Pattern == r.Pattern && g.Cell(r.Subject) != nil
	})
	if i < 0 || r.Switches < 0 || g == nil || !g.Cell(r.Subject).PerMessage.Known() {
		return ""
	}
	return format.Sig(r.Switches*d.SwitchCosts[i].NS/1000) + " of " + format.Sig(g.Cell(r.Subject).PerMessage.Mean)
}

// notes returns the explanations that were not available, each reason once with its subjects.
func (d *Digest) notes() []string {
	subjects := map[result.Note][]string{}
	var order []result.Note
	for _, n := range d.Notes {
		subject := n.Subject
		n.Subject = ""
		if !slices.Contains(order, n) {
			order = append(order, n)
		}
		if subject != "" {
			subjects[n] = append(subjects[n], subject)
		}
	}
	var items []string
	for _, n := range order {
		s := "Not available on this machine: " + n.What
		if len(subjects[n]) > 0 {
			s += " for " + format.List(subjects[n])
		}
		items = append(items, s+". "+format.Upper(n.Reason))
	}
	return items
}
