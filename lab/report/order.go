package report

import (
	"fmt"
	"strings"

	"weir/lab/report/figure"
	"weir/lab/result"
)

// orderSection shows the CPU of all subjects, and how their order changes with the arrival pattern.
func (d *digest) orderSection() section {
	s := section{ID: "order", Title: "CPU per " + d.unit() + " of every subject",
		How: "Generator and Machine are the CPU of the load generator and of the whole machine per message, in the same trials. " + d.correction(result.MetricCPU)}
	var figs []*figure.Figure
	var said []string
	var orders []block
	for _, load := range d.loads() {
		for _, n := range d.connections(load) {
			if groups := d.groupsAt(load, n); len(groups) > 1 {
				figs = append(figs, d.slope(load, n, groups))
				said = append(said, d.reversals(groups)...)
				orders = append(orders, block{Table: d.orderTable(groups)})
			}
		}
	}
	if len(figs) > 0 {
		s.Title = "How the order changes with the arrival pattern"
		s.How = "If two lines cross, the order of two subjects depends on the arrival pattern; sizes and rates of the messages are the same. " + s.How
		s.Blocks = []block{{Figures: figs}, d.reversalBlock(said)}
	}
	s.Blocks = append(s.Blocks, d.perGroupTable(d.rankTable)...)
	if len(orders) > 0 {
		s.Blocks = append(s.Blocks, block{Fold: "The order in brief", Inside: orders})
	}
	return s
}

// orderTable lists the subjects under each arrival pattern by their means.
func (d *digest) orderTable(groups []*group) *table {
	t := &table{Caption: fmt.Sprintf("Order at %s: mean CPU per message, µs", conns(groups[0].connections)), Align: "r", Head: []string{"Place"}}
	if len(d.loads()) > 1 {
		t.Caption += ", load " + groups[0].load
	}
	places := 0
	for _, g := range groups {
		t.Head, t.Align = append(t.Head, upper(patternName(g.pattern))), t.Align+"l"
		places = max(places, len(g.cells))
	}
	for i := range places {
		row := []string{count(i + 1)}
		for _, g := range groups {
			if i < len(g.cells) && g.cells[i].perMessage.known() {
				row = append(row, g.cells[i].subject+" "+sig(g.cells[i].perMessage.mean))
			} else {
				row = append(row, absent)
			}
		}
		t.add(row...)
	}
	return t
}

// slope draws the CPU of every subject under each arrival pattern, connected by lines.
func (d *digest) slope(load string, connections int, groups []*group) *figure.Figure {
	c := figure.Lines{Name: fmt.Sprintf("order-%s-%d", load, connections), Title: "CPU per message by arrival pattern, " + conns(connections),
		Desc: "One line for each subject. Where lines cross, the order depends on the arrival pattern.",
		X:    figure.Axis{Label: "arrivals"}, Y: figure.Axis{Label: "CPU, µs per message", Zero: true}}
	if len(d.loads()) > 1 {
		c.Title += ", load " + load
	}
	curves := map[string]*figure.Curve{}
	for i, g := range groups {
		c.X.At = append(c.X.At, float64(i))
		c.X.Names = append(c.X.Names, patternName(g.pattern))
		for _, cell := range g.cells {
			if curves[cell.subject] == nil {
				curves[cell.subject] = &figure.Curve{Name: cell.subject, Style: cell.index}
			}
			e := cell.perMessage
			curves[cell.subject].Points = append(curves[cell.subject].Points, figure.XY{X: float64(i), Y: e.mean, Low: e.low, High: e.high,
				Hover: fmt.Sprintf("%s, %s: %s µs", cell.subject, patternName(g.pattern), e)})
		}
	}
	for _, s := range d.subjects {
		if curves[s] != nil {
			c.Curves = append(c.Curves, *curves[s])
		}
	}
	return c.Draw()
}

// reversals describes the pairs of subjects whose order is opposite under two arrival patterns,
// with significant differences under both.
func (d *digest) reversals(groups []*group) []string {
	var out []string
	for i, a := range d.subjects {
		for _, b := range d.subjects[i+1:] {
			if less, more := d.sides(groups, a, b); len(less) > 0 && len(more) > 0 {
				out = append(out, fmt.Sprintf("%s: %s used less than %s %s, and more %s",
					conns(groups[0].connections), a, b, strings.Join(less, " and "), strings.Join(more, " and ")))
			}
		}
	}
	return out
}

// sides returns the arrival patterns under which a used significantly less CPU than b, and more.
func (d *digest) sides(groups []*group, a, b string) (less, more []string) {
	for _, g := range groups {
		v, ok := d.versus(result.MetricCPU, g, a, b)
		if !ok || v.Verdict != result.Different {
			continue
		}
		said := fmt.Sprintf("%s (%s)", arrivals(g.pattern), times(v.Ratio))
		if v.Ratio < 1 {
			less = append(less, said)
		} else {
			more = append(more, said)
		}
	}
	return less, more
}

// reversalBlock lists the pairs whose order depends on the arrival pattern.
func (d *digest) reversalBlock(said []string) block {
	if len(said) == 0 {
		return text("No pair of subjects has a significantly different order under two arrival patterns.")
	}
	return block{Fold: fmt.Sprintf("The order of %s of subjects depends on the arrival pattern (ratios of CPU per message in brackets)", plural(len(said), "pair", "pairs")),
		Inside: []block{text("Both differences of a pair are significant."), {Items: said}}}
}
