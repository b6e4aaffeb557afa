package report

import (
	"cmp"
	"math"
	"slices"
	"weir/lab/report/format"
	"weir/lab/result"
)

// ClosedLoops returns the groups of closed loops.
func (d *Digest) ClosedLoops() []*Group {
	return selected(d.Groups, func(g *Group) bool { return g.Pattern == result.Closed })
}

// Rates returns the lowest and the highest rate of a group; NaN without any.
func (g *Group) Rates() (low, high float64) {
	cells := g.ByRate()
	if len(cells) == 0 {
		return math.NaN(), math.NaN()
	}
	return cells[len(cells)-1].Rate().Mean, cells[0].Rate().Mean
}

// ByRate returns a group's cells that have trials, the fastest first.
func (g *Group) ByRate() []*Cell {
	cells := g.Measured()
	slices.SortStableFunc(cells, func(a, b *Cell) int { return cmp.Compare(b.Rate().Mean, a.Rate().Mean) })
	return cells
}

// RateTable lists the subjects of a closed loop, the fastest first.
func (d *Digest) RateTable(g *Group) *Table {
	t := &Table{Caption: format.Upper(d.Caption(g)) + ": " + d.Units() + "/s, fastest first", Align: "lrrrlrr",
		Head: []string{"Subject", format.Upper(d.Units()) + "/s", "95 % interval of the mean", "Ratio to the fastest (corrected interval)", "Verdict on the ratio", "p50, ms", "p99, ms"}}
	cells := g.ByRate()
	for i, c := range cells {
		rate, interval, of, verdict := c.Rate(), format.Absent, "1", "highest mean"
		if rate.HasInterval() {
			interval = format.Rate(rate.Low) + " to " + format.Rate(rate.High)
		}
		if v, ok := d.Versus(result.MetricRate, g, c.Subject, cells[0].Subject); ok {
			of, verdict = RatioWithin(v), v.Verdict
		} else if i > 0 {
			of, verdict = format.Times(rate.Mean/cells[0].Rate().Mean), "not compared"
		}
		t.Add(c.Subject, format.Rate(rate.Mean), interval, of, verdict, format.Sig(c.Millis(P50)), format.Sig(c.Millis(P99)))
	}
	return t
}

// GeneratorBound names the subjects in whose trials the generator was at its limit and the server
// was not. Newer runs reject such trials; older results may contain them.
func (d *Digest) GeneratorBound(g *Group) Block {
	const busy = 90 // percent of a core
	var names []string
	for _, c := range g.ByRate() {
		load := Median(c.Trials, func(t *result.Trial) float64 {
			return 100 * (t.LoadUSPerMsg*t.Rate()/1e6 + t.LoadRunQueue)
		})
		if load >= busy && c.Percent.Mean < busy*float64(max(1, len(d.Plan.ServerCPUs))) {
			names = append(names, c.Subject)
		}
	}
	if len(names) == 0 {
		return Block{}
	}
	return Paragraph("The load generator reached its limit with %s, and the server did not: the rate of the server is at least the stated one.", format.List(names))
}
