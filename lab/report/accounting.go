package report

import (
	"fmt"
	"math"
	"slices"

	"weir/lab/report/figure"
	"weir/lab/result"
)

// cpuBy returns a cell's mean CPU in % of a core as measured by an accounting method.
func (c *cell) cpuBy(m result.AccountingMethod) estimate {
	if m.Primary {
		return c.percent
	}
	return estimateOf(c.trials, func(t *result.Trial) float64 {
		if v, ok := t.CPUByMethod[m.Name]; ok {
			return v
		}
		return math.NaN()
	})
}

// methods returns the CPU accounting methods: first the one that the figures use, then those with a
// reading of at least one trial.
func (d *digest) methods() []result.AccountingMethod {
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

// accountingSection compares the CPU accounting methods. It is empty if only one was read.
func (d *digest) accountingSection() section {
	s := section{ID: "accounting", Title: "The same trials by each CPU accounting method",
		How: "The markers of a row are the same trials, measured by different methods. The distance between the markers is the error of the methods; the server is the same."}
	methods := d.methods()
	if len(d.groups) == 0 || len(methods) == 1 {
		return s
	}
	s.Blocks = append(s.Blocks, block{Items: methodList(methods)})
	s.Blocks = append(s.Blocks, d.perGroup("CPU by accounting method", d.accountingFigure)...)
	s.Blocks = append(s.Blocks, block{Fold: "The same as a table", Inside: []block{{Table: d.accountingTable()}}})
	return s
}

// methodList describes the accounting methods.
func methodList(methods []result.AccountingMethod) []string {
	var out []string
	for _, m := range methods {
		s := m.Name
		if m.Primary {
			s += " (used for the figures of this report)"
		}
		if m.About != "" {
			s += ": " + m.About
		}
		out = append(out, s)
	}
	return out
}

// accountingFigure shows the CPU of a group's subjects by each accounting method.
func (d *digest) accountingFigure(g *group) *figure.Figure {
	c := figure.Rows{Name: "accounting-" + d.tag(g), Title: "CPU by accounting method: " + d.caption(g),
		Desc: "One row for each subject, one marker for each accounting method.", X: figure.Axis{Label: "CPU, % of one core", Zero: true}}
	for i, m := range d.methods() {
		c.Keys = append(c.Keys, figure.Key{Text: m.Name, Shape: figure.ShapeOf(i), Role: figure.Series(i), Hollow: i > 0})
	}
	for _, cell := range g.cells {
		row := figure.Row{Name: cell.subject, Role: figure.Ink, Note: sig(cell.percent.mean) + " %"}
		for i, m := range d.methods() {
			e := cell.cpuBy(m)
			row.Dots = append(row.Dots, figure.Dot{X: e.mean, Shape: figure.ShapeOf(i), Role: figure.Series(i), Hollow: i > 0,
				Hover: fmt.Sprintf("%s, %s: %s %%", cell.subject, m.Name, sig(e.mean))})
		}
		c.Rows = append(c.Rows, row)
	}
	return c.Draw()
}

func (d *digest) accountingTable() *table {
	t := &table{Caption: "Mean CPU in % of one core, by accounting method", Align: "lll", Head: []string{"Subject", "Connections", "Arrivals"}}
	several := len(d.loads()) > 1
	if several {
		t.Align, t.Head = "llll", append(t.Head, "Load")
	}
	for _, m := range d.methods() {
		t.Align += "r"
		t.Head = append(t.Head, m.Name)
	}
	for _, g := range d.groups {
		for _, c := range g.cells {
			row := []string{c.subject, count(g.connections), patternName(g.pattern)}
			if several {
				row = append(row, g.load)
			}
			for _, m := range d.methods() {
				row = append(row, sig(c.cpuBy(m).mean))
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}
