package report

import (
	"fmt"
	"slices"

	gonum "gonum.org/v1/gonum/stat"

	"weir/lab/report/figure"
	"weir/lab/result"
)

// variantsHow explains differences between loads that differ in one setting of the server. They are
// separate cells, so a difference is taken per round and includes drift within the round.
const variantsHow = "Loads that differ only in this setting are not interleaved trial by trial. Differences are taken between the blocks of a round, and their intervals include the drift in between."

// extraCost returns the difference in CPU per request between the cells c and base, in us, paired
// by round.
func (c *cell) extraCost(base *cell) estimate {
	cost := func(t *result.Trial) float64 { return t.CPUUSPerMessage }
	a, b := byBlock(c.trials, cost), byBlock(base.trials, cost)
	var differences []float64
	for block, v := range a {
		if w, ok := b[block]; ok {
			differences = append(differences, v-w)
		}
	}
	slices.Sort(differences) // rounding depends on the order of the sum, and a map has none
	return studentOf(differences)
}

func byBlock(trials []*result.Trial, of func(*result.Trial) float64) map[int]float64 {
	values := map[int][]float64{}
	for _, t := range trials {
		values[t.Block] = append(values[t.Block], of(t))
	}
	means := map[int]float64{}
	for block, v := range values {
		means[block] = gonum.Mean(v, nil)
	}
	return means
}

// filtersSection shows the cost of pass-through components.
func (d *digest) filtersSection() section {
	s := section{ID: "filters", Title: "The cost of a pass-through component", How: variantsHow}
	if t := d.filtersTable(); len(t.Rows) > 0 {
		s.Blocks = []block{{Figures: []*figure.Figure{d.filtersFigure()}}, {Table: t}}
	}
	return s
}

// variant is a subject under a load with n pass-through components, and under the same load
// without.
type variant struct {
	n          int
	with, none *cell
}

// filtered returns the variants of a subject, in the order of their loads.
func (d *digest) filtered(subject string) []variant {
	var out []variant
	for _, g := range d.groups {
		n := d.loadOf(g.load).Requests.Filters
		base := d.without(g, func(q *result.Requests) { q.Filters = 0 })
		if n == 0 || base == nil {
			continue
		}
		if with, none := g.cell(subject), base.cell(subject); with != nil && none != nil && len(with.trials) > 0 && len(none.trials) > 0 {
			out = append(out, variant{n, with, none})
		}
	}
	return out
}

func (d *digest) filtersTable() *table {
	t := &table{Caption: "CPU per request with pass-through components", Align: "lrrrr",
		Head: []string{"Subject", "Components", "CPU, µs per request", "More than without, µs", "More for each, ns"}}
	for _, subject := range d.subjects {
		for i, v := range d.filtered(subject) {
			if i == 0 {
				if len(t.Rows) > 0 {
					t.Groups = append(t.Groups, len(t.Rows))
				}
				t.add(subject, "0", v.none.perMessage.String(), absent, absent)
			}
			more, n := v.with.extraCost(v.none), float64(v.n)
			each := estimate{more.mean * 1000 / n, more.low * 1000 / n, more.high * 1000 / n, more.n}
			t.add(subject, count(v.n), v.with.perMessage.String(), more.String(), each.String())
		}
	}
	return t
}

func (d *digest) filtersFigure() *figure.Figure {
	c := figure.Lines{Name: "filters", Title: "CPU per request by pass-through components", Desc: "One curve for each subject.",
		X: figure.Axis{Label: "components"}, Y: figure.Axis{Label: "CPU, µs per request", Zero: true}}
	point := func(n int, e estimate) figure.XY {
		if x := float64(n); !slices.Contains(c.X.At, x) {
			c.X.At = append(c.X.At, x)
		}
		return figure.XY{X: float64(n), Y: e.mean, Low: e.low, High: e.high, Hover: fmt.Sprintf("%s with %d: %s µs", c.Title, n, e)}
	}
	for i, subject := range d.subjects {
		curve := figure.Curve{Name: subject, Style: i}
		for k, v := range d.filtered(subject) {
			if k == 0 {
				curve.Points = append(curve.Points, point(0, v.none.perMessage))
			}
			curve.Points = append(curve.Points, point(v.n, v.with.perMessage))
		}
		c.Curves = append(c.Curves, curve)
	}
	slices.Sort(c.X.At)
	return c.Draw()
}

// gzipSection shows the cost of compressing each response.
func (d *digest) gzipSection() section {
	s := section{ID: "gzip", Title: "The cost of compression", How: "Each response was compressed anew, at the server's level nearest to 5 or 6. The client decompressed it and compared it with the file. " + variantsHow}
	for _, t := range d.gzipTables() {
		s.Blocks = append(s.Blocks, block{Table: t})
	}
	return s
}

func (d *digest) gzipTables() (tables []*table) {
	for _, g := range d.groups {
		if t := d.gzipTable(g); d.loadOf(g.load).Requests.Gzip && len(t.Rows) > 0 {
			tables = append(tables, t)
		}
	}
	return tables
}

func (d *digest) gzipTable(g *group) *table {
	base := d.without(g, func(q *result.Requests) { q.Gzip = false })
	t := &table{Caption: "Compressed: " + d.caption(g), Align: "lrrrrrr", Head: []string{"Subject", "CPU, µs per request", "More than without, µs", "Bytes per response", "Answered", "p50, ms", "p99, ms"}}
	for _, c := range g.cells {
		if len(c.trials) == 0 {
			continue
		}
		more := absent
		if base != nil && base.cell(c.subject) != nil {
			more = c.extraCost(base.cell(c.subject)).String()
		}
		size := median(c.trials, func(t *result.Trial) float64 { return float64(requestsOf(t).BodyBytes) / float64(max(t.Messages, 1)) })
		t.add(c.subject, c.perMessage.String(), more, count(int(size+0.5)), percent(c.answered()), sig(c.ms(p50)), sig(c.ms(p99)))
	}
	return t
}
