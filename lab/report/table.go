package report

import (
	"fmt"
	"slices"

	"weir/lab/result"
	"weir/lab/stat"
)

// tableSection is the paper's table with the published and the measured figures, one for each load.
func (d *digest) tableSection() section {
	s := section{ID: "table", Title: "The published table, and what was measured here",
		How: "CPU is the mean of the whole process tree in % of one core. σ/µ is its coefficient of variation over windows of " + short(d.Plan.WindowMS) +
			" ms, pooled over all trials, with the degrees of freedom in brackets; with fewer than " + fmt.Sprint(stat.MinDF) + " the trials are too short. Published figures are in the rows with the same concurrency model in the same language. They come from another machine and from programs that do unequal work: compare their shape, not their size."}
	for _, load := range d.loads() {
		s.Blocks = append(s.Blocks, block{Table: d.publishedTable(load)})
	}
	return s
}

func (d *digest) publishedTable(load string) *table {
	t := &table{Caption: upper(d.describe(load)), Align: "lrrr", Head: []string{"Subject", "Connections", "CPU\u00a0%", "σ/µ"}, Over: []over{{"", 2}, {"Published", 2}}}
	patterns := d.patterns(load)
	for _, p := range patterns {
		t.Align += "rr"
		t.Head, t.Over = append(t.Head, "CPU\u00a0%", "σ/µ"), append(t.Over, over{"Measured, " + patternName(p), 2})
	}
	for _, n := range d.connections(load) {
		if len(t.Rows) > 0 {
			t.Groups = append(t.Groups, len(t.Rows))
		}
		for _, subject := range d.subjects {
			if cells := d.across(load, n, subject); !allNil(cells) {
				t.Rows = append(t.Rows, d.publishedRow(subject, n, cells))
			}
		}
	}
	return t
}

// across returns a subject's cell under each arrival pattern of a load; nil if it has none.
func (d *digest) across(load string, connections int, subject string) []*cell {
	patterns := d.patterns(load)
	out := make([]*cell, len(patterns))
	for _, g := range d.groupsAt(load, connections) {
		out[slices.Index(patterns, g.pattern)] = g.cell(subject)
	}
	return out
}

func allNil(cells []*cell) bool {
	return !slices.ContainsFunc(cells, func(c *cell) bool { return c != nil })
}

func (d *digest) publishedRow(subject string, connections int, cells []*cell) []string {
	row := []string{subject, count(connections), absent, absent}
	if was, ok := d.publishedFor(subject, connections); ok {
		row[2], row[3] = fixed(was.percent, 2), fixed(was.cv, 3)
	}
	for _, c := range cells {
		if c == nil {
			row = append(row, absent, absent)
			continue
		}
		row = append(row, c.percent.String(), c.formatCV())
	}
	return row
}

// rankTable lists the subjects of a group by CPU, the lowest first.
func (d *digest) rankTable(g *group) *table {
	t := &table{Caption: upper(d.caption(g)) + ": CPU per " + d.unit() + ", lowest first", Align: "lrrrlrrrr",
		Head: []string{"Subject", "CPU, µs per " + d.unit(), "95 % interval of the mean", "Ratio to the first (corrected interval)", "Verdict on the ratio", "σ/µ (degrees of freedom)", "Generator, µs", "Machine, µs", "Trials"}}
	for i, c := range g.cells {
		ratio, verdict := d.versusFirst(g, i)
		t.Rows = append(t.Rows, []string{c.subject, sig(c.perMessage.mean), c.perMessage.interval(), ratio, verdict, c.formatCV(),
			sig(c.load.mean), sig(c.machine.mean), c.counted()})
	}
	return t
}

// counted formats the number of accepted trials and of those in which the subject failed: "7,
// failed 3".
func (c *cell) counted() string {
	if len(c.failed) == 0 {
		return fmt.Sprint(len(c.trials))
	}
	return fmt.Sprintf("%d, failed %d", len(c.trials), len(c.failed))
}

// versusFirst returns the ratio of the i-th cell to the first, and the verdict on it.
func (d *digest) versusFirst(g *group, i int) (ratio, verdict string) {
	c, first := g.cells[i], g.cells[0]
	switch {
	case len(c.trials) == 0 && len(c.failed) > 0:
		return absent, "failed"
	case len(c.trials) == 0:
		return absent, "all trials rejected"
	case !c.perMessage.known():
		return absent, "not measured"
	case i == 0:
		return "1", "lowest mean"
	}
	v, ok := d.versus(result.MetricCPU, g, c.subject, first.subject)
	if !ok {
		return times(c.perMessage.mean / first.perMessage.mean), "not compared"
	}
	return ratioWithin(v), v.Verdict
}
