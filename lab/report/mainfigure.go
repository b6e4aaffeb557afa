package report

import (
	"fmt"
	"math"
	"slices"

	"weir/lab/report/figure"
	"weir/lab/report/format"
	"weir/lab/result"
)

// MainFigure shows the CPU of a message.
func (d *Digest) MainFigure() *figure.Figure {
	g, l := d.FirstLead(result.MetricCPU, d.Busiest())
	if g == nil {
		return nil
	}
	c := figure.Rows{Name: "answer", Title: "CPU per " + d.Unit() + ": " + d.Caption(g),
		Desc: "One row for each subject, the lowest first, with its 95 % confidence interval. Squares are the lowest and the subjects not significantly different from it.",
		X:    figure.Axis{Label: "CPU, µs per " + d.Unit(), Zero: true}}
	for _, cell := range g.Cells {
		if e := cell.PerMessage; e.Known() {
			best := cell == l.First || slices.Contains(l.Tied, cell.Subject)
			name := cell.Subject
			if d.Subject(name).Paradigm == Floor {
				name += " (floor)"
			}
			c.Rows = append(c.Rows, MainRow(name, "µs", e, best))
		}
	}
	return c.Draw()
}

// MainRow is a subject's row in the main figure; a best one stands out by colour and shape.
func MainRow(name, unit string, e Estimate, best bool) figure.Row {
	dot := figure.Dot{X: e.Mean, Low: e.Low, High: e.High, Shape: figure.Circle, Role: figure.Muted, Hover: fmt.Sprintf("%s: %s %s", name, e, unit)}
	if best {
		dot.Shape, dot.Role = figure.Square, figure.Series(0)
	}
	if math.IsNaN(e.Low) {
		dot.Low, dot.High = 0, 0
	}
	return figure.Row{Name: name, Note: format.Sig(e.Mean) + " " + unit, Role: figure.Ink, Dots: []figure.Dot{dot}}
}
