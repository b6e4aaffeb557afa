package report

import (
	"fmt"

	"weir/lab/report/figure"
)

// connectionAxis returns a logarithmic axis with a tick for each number of connections.
func connectionAxis(counts []int) figure.Axis {
	a := figure.Axis{Label: "connections", Log: true}
	for _, n := range counts {
		a.At = append(a.At, float64(n))
	}
	return a
}

// connectionsSection has the paper's figures 3 and 4 for every load and arrival pattern. It is
// empty if the run has one number of connections.
func (d *digest) connectionsSection() section {
	s := section{ID: "connections", Title: "CPU and its variation against connections",
		How: "The paper's figures 3 and 4, measured again. Lower means less CPU in the first and steadier CPU in the second, whose scale is logarithmic. Whiskers are 95 % confidence intervals. The variation is pooled over all trials, and left out if they are too short. The published curves are in separate charts, because they come from another machine and another load generator."}
	percent, cv := func(c *cell) estimate { return c.percent }, func(c *cell) estimate { return c.cv }
	// its intervals are symmetric as factors
	variation := figure.Axis{Label: "standard deviation / mean of CPU", Log: true}
	for _, load := range d.loads() {
		if len(d.connections(load)) < 2 {
			continue
		}
		for _, p := range d.patterns(load) {
			s.Blocks = append(s.Blocks, block{Figures: []*figure.Figure{
				d.against(load, p, "mean-cpu", "Mean CPU", figure.Axis{Label: "CPU, % of one core", Zero: true}, percent),
				d.against(load, p, "variation", "Variation of CPU", variation, cv),
			}})
		}
	}
	if len(s.Blocks) > 0 {
		s.Blocks = append(s.Blocks, block{Figures: []*figure.Figure{
			asPrinted("published-mean-cpu", "Mean CPU, as published (figure 3)", figure.Axis{Label: "CPU, %", Zero: true}, func(p publishedPair) float64 { return p.percent }),
			asPrinted("published-variation", "Variation of CPU, as published (figure 4)", variation, func(p publishedPair) float64 { return p.cv }),
		}})
	}
	return s
}

// against draws a metric of every subject against the number of connections.
func (d *digest) against(load, pattern, name, title string, y figure.Axis, of func(*cell) estimate) *figure.Figure {
	c := figure.Lines{Name: name + "-" + load + "-" + pattern, Title: fmt.Sprintf("%s, %s", title, arrivals(pattern)),
		Desc: "One curve for each subject, with 95 % confidence intervals.",
		X:    connectionAxis(d.connections(load)), Y: y}
	if len(d.loads()) > 1 {
		c.Title += ", load " + load
	}
	for i, subject := range d.subjects {
		curve := figure.Curve{Name: subject, Style: i}
		for _, g := range d.groups {
			if x := g.cell(subject); x != nil && g.load == load && g.pattern == pattern {
				e := of(x)
				curve.Points = append(curve.Points, figure.XY{X: float64(g.connections), Y: e.mean, Low: e.low, High: e.high,
					Hover: fmt.Sprintf("%s, %s: %s, %s", subject, conns(g.connections), e, plural(e.n, "trial", "trials"))})
			}
		}
		c.Curves = append(c.Curves, curve)
	}
	return c.Draw()
}

// asPrinted draws one of the paper's figures from its table.
func asPrinted(name, title string, y figure.Axis, of func(publishedPair) float64) *figure.Figure {
	var counts []int
	for _, row := range published {
		counts = append(counts, row.connections)
	}
	return figure.Lines{Name: name, Title: title, Desc: "The published figures of the C and the Go program.",
		X: connectionAxis(counts), Y: y,
		Curves: []figure.Curve{publishedCurve(true, counts, of), publishedCurve(false, counts, of)}}.Draw()
}
