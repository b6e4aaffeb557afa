package paper

import (
	"fmt"

	"weir/lab/report"
	"weir/lab/report/figure"
	"weir/lab/report/format"
)

// ConnectionsSection has the paper's figures 3 and 4 for every load and arrival pattern. It is
// empty if the run has one number of connections.
func (d Run) ConnectionsSection() report.Section {
	s := report.Section{ID: "connections", Title: "CPU and its variation against connections",
		How: "The paper's figures 3 and 4, measured again. Lower means less CPU in the first and steadier CPU in the second, whose scale is logarithmic. Whiskers are 95 % confidence intervals. The variation is pooled over all trials, and left out if they are too short. The published curves are in separate charts, because they come from another machine and another load generator."}
	percent, cv := func(c *report.Cell) report.Estimate { return c.Percent }, func(c *report.Cell) report.Estimate { return c.CV }
	// its intervals are symmetric as factors
	variation := figure.Axis{Label: "standard deviation / mean of CPU", Log: true}
	for _, load := range d.Loads() {
		if len(d.ConnectionsOf(load)) < 2 {
			continue
		}
		for _, p := range d.PatternsOf(load) {
			s.Blocks = append(s.Blocks, report.Figures(
				d.against(load, p, "mean-cpu", "Mean CPU", figure.Axis{Label: "CPU, % of one core", Zero: true}, percent),
				d.against(load, p, "variation", "Variation of CPU", variation, cv)))
		}
	}
	if len(s.Blocks) > 0 {
		s.Blocks = append(s.Blocks, report.Figures(
			asPrinted("published-mean-cpu", "Mean CPU, as published (figure 3)", figure.Axis{Label: "CPU, %", Zero: true}, percentOf),
			asPrinted("published-variation", "Variation of CPU, as published (figure 4)", variation, cvOf)))
	}
	return s
}

// against draws a metric of every subject against the number of connections.
func (d Run) against(load, pattern, name, title string, y figure.Axis, of func(*report.Cell) report.Estimate) *figure.Figure {
	c := figure.Lines{Name: name + "-" + load + "-" + pattern, Title: fmt.Sprintf("%s, %s", title, format.Arrivals(pattern)) + d.LoadSuffix(load),
		Desc: "One curve for each subject, with 95 % confidence intervals.",
		X:    report.ConnectionAxis(d.ConnectionsOf(load)), Y: y}
	c.Curves = d.Curves(func(g *report.Group, x *report.Cell) (figure.XY, bool) {
		e := of(x)
		return e.Point(float64(g.Connections), fmt.Sprintf("%s, %s: %s, %s", x.Subject, format.Connections(g.Connections), e, format.Plural(e.N, "trial", "trials"))),
			g.Load == load && g.Pattern == pattern
	})
	return c.Draw()
}

// asPrinted draws one of the paper's figures from its table.
func asPrinted(name, title string, y figure.Axis, of func(usage) float64) *figure.Figure {
	counts := connections()
	return figure.Lines{Name: name, Title: title, Desc: "The published figures of the C and the Go program.",
		X: report.ConnectionAxis(counts), Y: y,
		Curves: []figure.Curve{curve(true, counts, of), curve(false, counts, of)}}.Draw()
}
