package report

import (
	"fmt"

	"weir/lab/report/format"
	"weir/lab/result"
)

// RankTable lists the subjects of a group by CPU, the lowest first.
func (d *Digest) RankTable(g *Group) *Table {
	t := &Table{Caption: format.Upper(d.Caption(g)) + ": CPU per " + d.Unit() + ", lowest first", Align: "lrrrlrrrr",
		Head: []string{"Subject", "CPU, µs per " + d.Unit(), "95 % interval of the mean", "Ratio to the first (corrected interval)", "Verdict on the ratio", "σ/µ (degrees of freedom)", "Generator, µs", "Machine, µs", "Trials"}}
	for i, c := range g.Cells {
		ratio, verdict := d.versusFirst(g, i)
		t.Rows = append(t.Rows, []string{c.Subject, format.Sig(c.PerMessage.Mean), c.PerMessage.Interval(), ratio, verdict, c.FormatCV(),
			format.Sig(c.load.Mean), format.Sig(c.machine.Mean), c.Counted()})
	}
	return t
}

// Counted formats the number of accepted trials and of those in which the subject failed: "7,
// failed 3".
func (c *Cell) Counted() string {
	if len(c.failed) == 0 {
		return fmt.Sprint(len(c.Trials))
	}
	return fmt.Sprintf("%d, failed %d", len(c.Trials), len(c.failed))
}

// versusFirst returns the ratio of the i-th cell to the first, and the verdict on it.
func (d *Digest) versusFirst(g *Group, i int) (ratio, verdict string) {
	c, first := g.Cells[i], g.Cells[0]
	switch {
	case len(c.Trials) == 0 && len(c.failed) > 0:
		return format.Absent, "failed"
	case len(c.Trials) == 0:
		return format.Absent, "all trials rejected"
	case !c.PerMessage.Known():
		return format.Absent, "not measured"
	case i == 0:
		return "1", "lowest mean"
	}
	v, ok := d.Versus(result.MetricCPU, g, c.Subject, first.Subject)
	if !ok {
		return format.Times(c.PerMessage.Mean / first.PerMessage.Mean), "not compared"
	}
	return RatioWithin(v), v.Verdict
}

// RankSummaries is RankTable for a terminal, for each of the groups that has an accepted trial.
func (d *Digest) RankSummaries(groups []*Group) []*Table {
	var tables []*Table
	for _, g := range groups {
		if len(g.Measured()) > 0 {
			t := d.RankTable(g)
			t.removeColumn(2)
			t.Head = []string{"subject", "µs/" + d.Unit(), "ratio to first", "verdict", "σ/µ (df)", "generator", "machine", "trials"}
			tables = append(tables, t)
		}
	}
	return tables
}
