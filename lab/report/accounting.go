package report

import (
	"fmt"
	"math"
	"slices"

	"weir/lab/report/figure"
	"weir/lab/report/format"
	"weir/lab/result"
)

// CPUBy returns a cell's mean CPU in % of a core as measured by an accounting method.
func (c *Cell) CPUBy(m result.AccountingMethod) Estimate {
	if m.Primary {
		return c.Percent
	}
	return EstimateOf(c.Trials, func(t *result.Trial) float64 {
		if v, ok := t.CPUByMethod[m.Name]; ok {
			return v
		}
		return math.NaN()
	})
}

// Methods returns the CPU accounting methods: first the one that the figures use, then those with a
// reading of at least one trial.
func (d *Digest) Methods() []result.AccountingMethod {
	out := []result.AccountingMethod{{Name: "the accounting of this run", Primary: true}}
	for _, m := range d.AccountingMethods {
		read := func(t result.Trial) bool { _, ok := t.CPUByMethod[m.Name]; return ok }
		switch {
		case m.Primary:
			out[0] = m
		case slices.ContainsFunc(d.Trials, read):
			out = append(out, m)
		}
	}
	return out
}

// AccountingSection compares the CPU accounting methods. It is empty if only one was read.
func (d *Digest) AccountingSection() Section {
	s := Section{ID: "accounting", Title: "The same trials by each CPU accounting method",
		How: "The markers of a row are the same trials, measured by different methods. The distance between the markers is the error of the methods; the server is the same."}
	methods := d.Methods()
	if len(d.Groups) == 0 || len(methods) == 1 {
		return s
	}
	var about []string
	for _, m := range methods {
		x := m.Name
		if m.Primary {
			x += " (used for the figures of this report)"
		}
		if m.About != "" {
			x += ": " + m.About
		}
		about = append(about, x)
	}
	s.Blocks = append([]Block{{Items: about}}, d.PerGroup("CPU by accounting method", d.accountingFigure)...)
	s.Blocks = append(s.Blocks, Block{Fold: "The same as a table", Inside: []Block{{Table: d.accountingTable()}}})
	return s
}

// accountingFigure shows the CPU of a group's subjects by each accounting method.
func (d *Digest) accountingFigure(g *Group) *figure.Figure {
	c := figure.Rows{Name: "accounting-" + d.Tag(g), Title: "CPU by accounting method: " + d.Caption(g),
		Desc: "One row for each subject, one marker for each accounting method.", X: figure.Axis{Label: "CPU, % of one core", Zero: true}}
	for i, m := range d.Methods() {
		c.Keys = append(c.Keys, figure.Key{Text: m.Name, Shape: figure.ShapeOf(i), Role: figure.Series(i), Hollow: i > 0})
	}
	for _, cell := range g.Cells {
		row := figure.Row{Name: cell.Subject, Role: figure.Ink, Note: format.Sig(cell.Percent.Mean) + " %"}
		for i, m := range d.Methods() {
			e := cell.CPUBy(m)
			dot := figure.SeriesDot(i, e.Mean, fmt.Sprintf("%s, %s: %s %%", cell.Subject, m.Name, format.Sig(e.Mean)))
			dot.Hollow = i > 0
			row.Dots = append(row.Dots, dot)
		}
		c.Rows = append(c.Rows, row)
	}
	return c.Draw()
}

func (d *Digest) accountingTable() *Table {
	t := &Table{Caption: "Mean CPU in % of one core, by accounting method", Align: "llll", Head: []string{"Subject", "Connections", "Arrivals", "Load"}}
	for _, m := range d.Methods() {
		t.AddColumn(m.Name, 'r')
	}
	for _, g := range d.Groups {
		for _, c := range g.Cells {
			row := []string{c.Subject, format.Count(g.Connections), format.Pattern(g.Pattern), g.Load}
			for _, m := range d.Methods() {
				row = append(row, format.Sig(c.CPUBy(m).Mean))
			}
			t.Add(row...)
		}
	}
	if len(d.Loads()) == 1 {
		t.removeColumn(3)
	}
	return t
}
