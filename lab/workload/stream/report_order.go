package stream

import (
	"fmt"
	"slices"
	"strings"

	"weir/lab/report"
	"weir/lab/report/figure"
	"weir/lab/report/format"
	"weir/lab/result"
)

// orderSection shows the CPU of all subjects, and how their order changes with the arrival pattern.
func (d digest) orderSection() report.Section {
	s := report.Section{ID: "order", Title: "CPU per " + d.Unit() + " of every subject",
		How: "Generator and Machine are the CPU of the load generator and of the whole machine per message, in the same trials. " + d.Correction(result.MetricCPU)}
	var figs []*figure.Figure
	var said []string
	var orders []report.Block
	for _, load := range d.Loads() {
		for _, n := range d.ConnectionsOf(load) {
			if groups := d.GroupsAt(load, n); len(groups) > 1 {
				figs = append(figs, d.slope(load, n, groups))
				said = append(said, d.reversals(groups)...)
				orders = append(orders, report.Block{Table: d.orderTable(groups)})
			}
		}
	}
	if len(figs) > 0 {
		s.Title = "How the order changes with the arrival pattern"
		s.How = "If two lines cross, the order of two subjects depends on the arrival pattern; sizes and rates of the messages are the same. " + s.How
		s.Blocks = []report.Block{{Figures: figs}, d.reversalBlock(said)}
	}
	s.Blocks = append(append(s.Blocks, d.PerGroupTable(d.RankTable)...), report.Block{Fold: "The order in brief", Inside: orders})
	return s
}

// orderTable lists the subjects under each arrival pattern by their means.
func (d digest) orderTable(groups []*report.Group) *report.Table {
	t := &report.Table{Caption: fmt.Sprintf("Order at %s: mean CPU per message, µs", format.Connections(groups[0].Connections)) + d.LoadSuffix(groups[0].Load), Align: "r", Head: []string{"Place"}}
	places := 0
	for _, g := range groups {
		t.AddColumn(format.Upper(format.Pattern(g.Pattern)), 'l')
		places = max(places, len(g.Cells))
	}
	for i := range places {
		row := []string{format.Count(i + 1)}
		for _, g := range groups {
			cell := format.Absent
			if i < len(g.Cells) && g.Cells[i].PerMessage.Known() {
				cell = g.Cells[i].Subject + " " + format.Sig(g.Cells[i].PerMessage.Mean)
			}
			row = append(row, cell)
		}
		t.Add(row...)
	}
	return t
}

// slope draws the CPU of every subject under each arrival pattern, connected by lines.
func (d digest) slope(load string, connections int, groups []*report.Group) *figure.Figure {
	c := figure.Lines{Name: fmt.Sprintf("order-%s-%d", load, connections), Title: "CPU per message by arrival pattern, " + format.Connections(connections) + d.LoadSuffix(load),
		Desc: "One line for each subject. Where lines cross, the order depends on the arrival pattern.",
		X:    figure.Axis{Label: "arrivals"}, Y: figure.Axis{Label: "CPU, µs per message", Zero: true},
		Curves: d.Curves(func(g *report.Group, cell *report.Cell) (figure.XY, bool) {
			i := slices.Index(groups, g)
			return cell.PerMessage.Point(float64(i), fmt.Sprintf("%s, %s: %s µs", cell.Subject, format.Pattern(g.Pattern), cell.PerMessage)), i >= 0
		})}
	for i, g := range groups {
		c.X.At, c.X.Names = append(c.X.At, float64(i)), append(c.X.Names, format.Pattern(g.Pattern))
	}
	return c.Draw()
}

// reversals describes the pairs of subjects whose order is opposite under two arrival patterns,
// with significant differences under both.
func (d digest) reversals(groups []*report.Group) []string {
	var out []string
	for i, a := range d.Names {
		for _, b := range d.Names[i+1:] {
			if less, more := d.sides(groups, a, b); len(less) > 0 && len(more) > 0 {
				out = append(out, fmt.Sprintf("%s: %s used less than %s %s, and more %s",
					format.Connections(groups[0].Connections), a, b, strings.Join(less, " and "), strings.Join(more, " and ")))
			}
		}
	}
	return out
}

// sides returns the arrival patterns under which a used significantly less CPU than b, and more.
func (d digest) sides(groups []*report.Group, a, b string) (less, more []string) {
	for _, g := range groups {
		v, ok := d.Versus(result.MetricCPU, g, a, b)
		if !ok || v.Verdict != result.Different {
			continue
		}
		said := fmt.Sprintf("%s (%s)", format.Arrivals(g.Pattern), format.Times(v.Ratio))
		if v.Ratio < 1 {
			less = append(less, said)
		} else {
			more = append(more, said)
		}
	}
	return less, more
}

// reversalBlock lists the pairs whose order depends on the arrival pattern.
func (d digest) reversalBlock(said []string) report.Block {
	if len(said) == 0 {
		return report.Paragraph("No pair of subjects has a significantly different order under two arrival patterns.")
	}
	return report.Block{Fold: fmt.Sprintf("The order of %s of subjects depends on the arrival pattern (ratios of CPU per message in brackets)", format.Plural(len(said), "pair", "pairs")),
		Inside: []report.Block{report.Paragraph("Both differences of a pair are significant."), {Items: said}}}
}
