package report

import "weir/lab/report/figure"

// ConnectionAxis returns a logarithmic axis with a tick for each number of connections.
func ConnectionAxis(counts []int) figure.Axis {
	a := figure.Axis{Label: "connections", Log: true}
	for _, n := range counts {
		a.At = append(a.At, float64(n))
	}
	return a
}

// Curves returns a curve for every subject, with a point for each of its cells. The function at
// returns the point, and whether it belongs to the figure.
func (d *Digest) Curves(at func(*Group, *Cell) (figure.XY, bool)) []figure.Curve {
	var curves []figure.Curve
	for i, subject := range d.Names {
		curve := figure.Curve{Name: subject, Style: i}
		for _, g := range d.Groups {
			c := g.Cell(subject)
			if c == nil {
				continue
			}
			if p, ok := at(g, c); ok {
				curve.Points = append(curve.Points, p)
			}
		}
		curves = append(curves, curve)
	}
	return curves
}
