package http

import (
	"fmt"
	"slices"

	"weir/lab/report"
	"weir/lab/report/figure"
	"weir/lab/report/format"
	"weir/lab/result"
)

// variantsHow explains differences between loads that differ in one setting of the server. They are
// separate cells, so a difference is taken per round and includes drift within the round.
const variantsHow = "Loads that differ only in this setting are not interleaved trial by trial. Differences are taken between the blocks of a round, and their intervals include the drift in between."

// extraCost returns the difference in CPU per request between two cells, in us, paired by round.
func extraCost(c, base *report.Cell) report.Estimate {
	return report.Difference(c.Trials, base.Trials, func(t *result.Trial) float64 { return t.CPUUSPerMessage })
}

// filtersSection shows the cost of pass-through components.
func (d digest) filtersSection() report.Section {
	s := report.Section{ID: "filters", Title: "The cost of a pass-through component", How: variantsHow}
	if t := d.filtersTable(); len(t.Rows) > 0 {
		s.Blocks = []report.Block{report.Figures(d.filtersFigure()), {Table: t}}
	}
	return s
}

// variant is a subject under a load with n pass-through components, and under the same load
// without.
type variant struct {
	n          int
	with, none *report.Cell
}

// filtered returns the variants of a subject, in the order of their loads.
func (d digest) filtered(subject string) []variant {
	var out []variant
	for _, g := range d.Groups {
		n := d.LoadOf(g.Load).Requests.Filters
		base := d.without(g, func(q *result.Requests) { q.Filters = 0 })
		if n == 0 || base == nil {
			continue
		}
		if with, none := g.MeasuredCell(subject), base.MeasuredCell(subject); with != nil && none != nil {
			out = append(out, variant{n, with, none})
		}
	}
	return out
}

func (d digest) filtersTable() *report.Table {
	t := &report.Table{Caption: "CPU per request with pass-through components", Align: "lrrrr",
		Head: []string{"Subject", "Components", "CPU, µs per request", "More than without, µs", "More for each, ns"}}
	for _, subject := range d.Names {
		for i, v := range d.filtered(subject) {
			if i == 0 {
				t.StartGroup()
				t.Add(subject, "0", v.none.PerMessage.String(), format.Absent, format.Absent)
			}
			more, n := extraCost(v.with, v.none), float64(v.n)
			each := report.Estimate{Mean: more.Mean * 1000 / n, Low: more.Low * 1000 / n, High: more.High * 1000 / n, N: more.N}
			t.Add(subject, format.Count(v.n), v.with.PerMessage.String(), more.String(), each.String())
		}
	}
	return t
}

func (d digest) filtersFigure() *figure.Figure {
	c := figure.Lines{Name: "filters", Title: "CPU per request by pass-through components", Desc: "One curve for each subject.",
		X: figure.Axis{Label: "components"}, Y: figure.Axis{Label: "CPU, µs per request", Zero: true}}
	point := func(n int, e report.Estimate) figure.XY {
		if x := float64(n); !slices.Contains(c.X.At, x) {
			c.X.At = append(c.X.At, x)
		}
		return e.Point(float64(n), fmt.Sprintf("%s with %d: %s µs", c.Title, n, e))
	}
	for i, subject := range d.Names {
		curve := figure.Curve{Name: subject, Style: i}
		for k, v := range d.filtered(subject) {
			if k == 0 {
				curve.Points = append(curve.Points, point(0, v.none.PerMessage))
			}
			curve.Points = append(curve.Points, point(v.n, v.with.PerMessage))
		}
		c.Curves = append(c.Curves, curve)
	}
	slices.Sort(c.X.At)
	return c.Draw()
}

// gzipSection shows the cost of compressing each response.
func (d digest) gzipSection() report.Section {
	s := report.Section{ID: "gzip", Title: "The cost of compression", How: "Each response was compressed anew, at the server's level nearest to 5 or 6. The client decompressed it and compared it with the file. " + variantsHow}
	for _, t := range d.gzipTables() {
		s.Blocks = append(s.Blocks, report.Block{Table: t})
	}
	return s
}

func (d digest) gzipTables() (tables []*report.Table) {
	for _, g := range d.Groups {
		if t := d.gzipTable(g); d.LoadOf(g.Load).Requests.Gzip && len(t.Rows) > 0 {
			tables = append(tables, t)
		}
	}
	return tables
}

func (d digest) gzipTable(g *report.Group) *report.Table {
	base := d.without(g, func(q *result.Requests) { q.Gzip = false })
	t := &report.Table{Caption: "Compressed: " + d.Caption(g), Align: "lrrrrrr", Head: []string{"Subject", "CPU, µs per request", "More than without, µs", "Bytes per response", "Answered", "p50, ms", "p99, ms"}}
	for _, c := range g.Measured() {
		more := format.Absent
		if base != nil && base.Cell(c.Subject) != nil {
			more = extraCost(c, base.Cell(c.Subject)).String()
		}
		size := report.Median(c.Trials, func(t *result.Trial) float64 {
			return float64(requestsOf(t).BodyBytes) / float64(max(t.Messages, 1))
		})
		t.Add(c.Subject, c.PerMessage.String(), more, format.Count(int(size+0.5)), format.Percent(Answered(c)), format.Sig(c.Millis(report.P50)), format.Sig(c.Millis(report.P99)))
	}
	return t
}
