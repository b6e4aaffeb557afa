package stream

import (
	"cmp"
	"fmt"
	"slices"
	"weir/lab/report"
	"weir/lab/report/format"
	"weir/lab/result"
	"weir/lab/stat"
)

// detailSection gives the answer for each arrival pattern. It is empty if there is one pattern, or
// for runs of the published programs, which have a section of their own.
func (d digest) detailSection() report.Section {
	s := report.Section{ID: "detail", Title: "The answer by arrival pattern",
		How: "A subject that is not significantly different may use as much as the lowest; the run cannot tell. " + d.Correction(result.MetricCPU) + " " + d.Correction(result.MetricCV)}
	groups := d.Busiest()
	if len(groups) < 2 || d.Accepted() == 0 || d.asPublished() {
		return s
	}
	pair := d.Go + " / " + d.C
	t := &report.Table{Caption: format.Upper(format.Connections(groups[0].Connections)), Align: "lllllll",
		Head: []string{"Arrivals", "Least CPU, µs per message", "Not significantly different", pair, "Steadiest CPU, σ/µ", "Not significantly different in σ/µ", pair + ", σ/µ"}}
	for _, g := range groups {
		row := []string{format.Pattern(g.Pattern)}
		for _, metric := range []string{result.MetricCPU, result.MetricCV} {
			row = append(row, d.leadCells(metric, g)...)
			row = append(row, pairCell(d.Pair(metric, g)))
		}
		t.Add(row...)
	}
	s.Blocks = []report.Block{{Table: t}}
	return s
}

// leadCells are the subject with the lowest mean in a metric, and those not significantly different
// from it.
func (d digest) leadCells(metric string, g *report.Group) []string {
	l, ok := d.Lead(metric, g)
	switch {
	case ok:
		return []string{l.First.Subject + " " + format.Sig(l.Value.Mean), cmp.Or(format.List(l.Tied), "none")}
	case metric == result.MetricCV && slices.ContainsFunc(g.Cells, func(c *report.Cell) bool { return c.PerMessage.Known() }):
		return []string{stat.TooShort, format.Absent}
	}
	return []string{format.Absent, format.Absent}
}

// pairCell formats a comparison with its interval and verdict.
func pairCell(v result.Comparison, ok bool) string {
	if !ok || report.TooShort(v) {
		return map[bool]string{true: stat.TooShort, false: format.Absent}[ok]
	}
	return fmt.Sprintf("%s (%s), %s", format.Times(v.Ratio), format.Between(v.Low, v.High), v.Verdict)
}
