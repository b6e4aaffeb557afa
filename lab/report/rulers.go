package report

import (
	"fmt"
	"math"
	"slices"

	"weir/lab/report/figure"
	"weir/lab/result"
)

// seen is a cell's mean CPU in % of a core as a ruler reads it.
func (c *cell) seen(r result.Ruler) estimate {
	if r.Truth {
		return c.percent
	}
	return estimateOf(c.trials, func(t *result.Trial) float64 {
		if v, ok := t.Rulers[r.Name]; ok {
			return v
		}
		return math.NaN()
	})
}

// rulers is the true one, which the figures use, and the others that read at least one trial.
func (d *digest) rulers() []result.Ruler {
	out := []result.Ruler{{Name: "the accounting of this run", Truth: true}}
	for _, r := range d.Rulers {
		read := func(t result.Trial) bool { _, ok := t.Rulers[r.Name]; return ok }
		switch {
		case r.Truth:
			out[0] = r
		case slices.ContainsFunc(d.Trials, read):
			out = append(out, r)
		}
	}
	return out
}

func (d *digest) rulersSection() section {
	s := section{ID: "rulers", Title: "The same trials through each ruler",
		How: "Every marker of a row is the same trials read by another way of accounting; the distance between markers is the rulers' error, not the server."}
	if len(d.groups) == 0 {
		return s
	}
	rulers := d.rulers()
	if len(rulers) == 1 {
		s.Blocks = []block{text("Only one ruler was read in this run, the true one: %s. An experiment with rulers = true reads others beside it, as im and im-published do where there are not too many processes to look at.", rulers[0].Name)}
		return s
	}
	s.Blocks = append(s.Blocks, block{Items: rulerList(rulers)})
	s.Blocks = append(s.Blocks, d.perGroup("Rulers", d.rulerFigure)...)
	s.Blocks = append(s.Blocks, block{Fold: "The same as a table", Inside: []block{{Table: d.rulerTable()}}})
	return s
}

func rulerList(rulers []result.Ruler) []string {
	var out []string
	for _, r := range rulers {
		s := r.Name
		if r.Truth {
			s += " (the true one: the figures of this report use it)"
		}
		if r.About != "" {
			s += ": " + r.About
		}
		out = append(out, s)
	}
	return out
}

func (d *digest) rulerFigure(g *group) *figure.Figure {
	c := figure.Rows{Name: "rulers-" + d.tag(g), Title: "CPU as each ruler reads it: " + d.caption(g),
		Desc: "One row for each subject, one marker for each ruler.", X: figure.Axis{Label: "CPU, % of one core", Zero: true}}
	for i, r := range d.rulers() {
		c.Keys = append(c.Keys, figure.Key{Text: r.Name, Shape: figure.ShapeOf(i), Role: figure.Series(i), Hollow: i > 0})
	}
	for _, cell := range g.cells {
		row := figure.Row{Name: cell.subject, Role: figure.Ink, Note: sig(cell.percent.mean) + " %"}
		for i, r := range d.rulers() {
			e := cell.seen(r)
			row.Dots = append(row.Dots, figure.Dot{X: e.mean, Shape: figure.ShapeOf(i), Role: figure.Series(i), Hollow: i > 0,
				Hover: fmt.Sprintf("%s, %s: %s %%", cell.subject, r.Name, sig(e.mean))})
		}
		c.Rows = append(c.Rows, row)
	}
	return c.Draw()
}

func (d *digest) rulerTable() *table {
	t := &table{Caption: "Mean CPU in % of one core, by ruler", Align: "lll", Head: []string{"Subject", "Connections", "Arrivals"}}
	several := len(d.loads()) > 1
	if several {
		t.Align, t.Head = "llll", append(t.Head, "Load")
	}
	for _, r := range d.rulers() {
		t.Align += "r"
		t.Head = append(t.Head, r.Name)
	}
	for _, g := range d.groups {
		for _, c := range g.cells {
			row := []string{c.subject, count(g.connections), patternName(g.pattern)}
			if several {
				row = append(row, g.load)
			}
			for _, r := range d.rulers() {
				row = append(row, sig(c.seen(r).mean))
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}
