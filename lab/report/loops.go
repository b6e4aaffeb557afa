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
	return slices.DeleteFunc(slices.Clone(d.Groups), func(g *Group) bool { return g.Pattern != result.Closed })
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
	cells := slices.DeleteFunc(slices.Clone(g.Cells), func(c *Cell) bool { return len(c.Trials) == 0 })
	slices.SortStableFunc(cells, func(a, b *Cell) int { return cmp.Compare(b.Rate().Mean, a.Rate().Mean) })
	return cells
}

// RateInterval formats the interval of a rate with the decimals of perSecond.
func (e Estimate) RateInterval() string {
	if !e.HasInterval() {
		return format.Absent
	}
	return format.Rate(e.Low) + " to " + format.Rate(e.High)
}

func (d *Digest) VersusFastest(g *Group, c, first *Cell) (ratio, verdict string) {
	v, ok := d.Versus(result.MetricRate, g, c.Subject, first.Subject)
	if !ok {
		return format.Times(c.Rate().Mean / first.Rate().Mean), "not compared"
	}
	return RatioWithin(v), v.Verdict
}

// GeneratorBound returns the subjects in whose trials the generator was at its limit and the server
// was not. Newer runs reject such trials; older results may contain them.
func (d *Digest) GeneratorBound(g *Group) []string {
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
	return names
}
