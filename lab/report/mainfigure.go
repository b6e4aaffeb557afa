package report

import (
	"fmt"
	"math"
	"slices"

	"weir/lab/report/figure"
	"weir/lab/result"
)

// mainFigure shows the figures that the answer's first sentence is about: one row for each subject,
// the best first, with its 95 % confidence interval. It is nil if nothing was measured there.
func (d *digest) mainFigure() *figure.Figure {
	if d.accepted() == 0 {
		return nil
	}
	return d.kind.mainFigure()
}

// mainCPU shows the CPU of a message.
func (d *digest) mainCPU() *figure.Figure {
	g, l := d.firstLead(result.MetricCPU, d.busiest())
	if g == nil {
		return nil
	}
	c := figure.Rows{Name: "answer", Title: "CPU per " + d.unit() + ": " + d.caption(g),
		Desc: "One row for each subject, the lowest first, with its 95 % confidence interval. Squares are the lowest and the subjects not significantly different from it.",
		X:    figure.Axis{Label: "CPU, µs per " + d.unit(), Zero: true}}
	for _, cell := range g.cells {
		if e := cell.perMessage; e.known() {
			best := cell == l.first || slices.Contains(l.tied, cell.subject)
			name := cell.subject
			if d.subject(name).Paradigm == floorParadigm {
				name += " (floor)"
			}
			c.Rows = append(c.Rows, mainRow(name, "µs", e, best))
		}
	}
	return c.Draw()
}

// mainOperation is the main figure of a run on TCP/IP stacks: the first operation of the answer.
func (d *digest) mainOperation() *figure.Figure {
	for _, g := range d.groups {
		o := d.loadOf(g.load).Operation
		if o.Inside || o.Cores > 0 || o.Name == result.OperationIdle || d.operationSentence(g, o) == "" {
			continue
		}
		f, _ := mainOf(o)
		c := figure.Rows{Name: "answer", Title: upper(d.caption(g)) + ": " + f.head,
			Desc: "One row for each stack, with its 95 % confidence interval.", X: figure.Axis{Label: f.head, Zero: true}}
		for _, cell := range d.inOrder(g) {
			if e := estimateOf(cell.trials, f.of); e.known() {
				c.Rows = append(c.Rows, mainRow(shortName(cell.subject), "", e, cell.subject != d.reference()))
			}
		}
		return c.Draw()
	}
	return nil
}

// mainRow is a subject's row in the main figure; a best one stands out by colour and shape.
func mainRow(name, unit string, e estimate, best bool) figure.Row {
	dot := figure.Dot{X: e.mean, Low: e.low, High: e.high, Shape: figure.Circle, Role: figure.Muted, Hover: fmt.Sprintf("%s: %s %s", name, e, unit)}
	if best {
		dot.Shape, dot.Role = figure.Square, figure.Series(0)
	}
	if math.IsNaN(e.low) {
		dot.Low, dot.High = 0, 0
	}
	return figure.Row{Name: name, Note: sig(e.mean) + " " + unit, Role: figure.Ink, Dots: []figure.Dot{dot}}
}
