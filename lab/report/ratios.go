package report

import (
	"fmt"
	"math"

	"weir/lab/report/figure"
	"weir/lab/report/format"
	"weir/lab/result"
)

// RatiosSection shows forest plots: every ratio with its confidence interval and its verdict. It
// states the correction for CPU and for the given metrics.
func (d *Digest) RatiosSection(metrics ...string) Section {
	folded := func(title, metric, what string) Block {
		return Block{Fold: title, Inside: d.PerGroup("Ratios", d.forest(metric, what))}
	}
	return Section{ID: "ratios", Title: "Ratios, confidence intervals and verdicts", How: d.ratiosHow(metrics), Blocks: append(
		d.PerGroup("Ratios", d.forest(result.MetricCPU, "CPU per "+d.Unit())),
		folded("Ratios of the variation of CPU", result.MetricCV, "variation of CPU"),
		folded("Ratios of the "+d.Units()+" per second in closed loops", result.MetricRate, d.Units()+"/s"),
		folded("Ratios of the mean time of an operation", result.MetricLatency, "mean time"),
		Block{Fold: fmt.Sprintf("All %s as a table", format.Plural(len(d.Comparisons), "comparison", "comparisons")), Inside: []Block{{Table: d.comparisonTable()}}})}
}

// ratiosHow explains the plots and the verdicts.
func (d *Digest) ratiosHow(metrics []string) string {
	corrections := d.Correction(result.MetricCPU)
	for _, m := range metrics {
		corrections += " " + d.Correction(m)
	}
	margin := "the equivalence margin"
	if m := d.Plan.Margin; m > 0 {
		margin = fmt.Sprintf("the equivalence margin of %s to %s (the grey band)", format.Times(1/(1+m)), format.Times(1+m))
	}
	return "A ratio of 1 is no difference. The whisker is the 95 % confidence interval with the correction of the verdict. " +
		"\"Different\" means that it excludes 1, \"equivalent\" that the ratio lies within " + margin + " with the same confidence, \"undecided\" that neither was shown. " +
		corrections
}

// forest returns a function that draws the ratios of one metric in a group.
func (d *Digest) forest(metric, what string) func(*Group) *figure.Figure {
	return func(g *Group) *figure.Figure {
		c := figure.Rows{Name: "ratios-" + metric + "-" + d.Tag(g), Title: "Ratios of " + what + ": " + d.Caption(g),
			Desc: "One row for each pair of subjects: the ratio, its 95 % confidence interval, the verdict.", X: figure.Axis{Label: "first / second", Log: true}, Mark: []float64{1}}
		if d.Plan.Margin > 0 {
			c.Between = [2]float64{1 / (1 + d.Plan.Margin), 1 + d.Plan.Margin}
		}
		for _, v := range d.Family(metric, g) {
			if !TooShort(v) {
				c.Rows = append(c.Rows, forestRow(v))
			}
		}
		return c.Draw()
	}
}

// forestRow draws one ratio. Colour and shape show the verdict; an undecided one is hollow.
func forestRow(v result.Comparison) figure.Row {
	dot := figure.Dot{X: v.Ratio, Low: v.Low, High: v.High, Role: figure.Muted, Shape: figure.Circle, Hollow: true}
	switch v.Verdict {
	case result.Different:
		dot.Role, dot.Shape, dot.Hollow = figure.Series(1), figure.Diamond, false
	case result.Equivalent:
		dot.Role, dot.Shape, dot.Hollow = figure.Series(0), figure.Square, false
	}
	dot.Hover = fmt.Sprintf("%s / %s: %s, 95 %% interval %s, p %s, %s, %s", v.A, v.B, format.Times(v.Ratio), format.Between(v.Low, v.High), probability(v.P), format.Plural(v.Pairs, "pair", "pairs"), v.Verdict)
	return figure.Row{Name: v.A + " / " + v.B, Note: format.Times(v.Ratio) + " " + v.Verdict, Role: figure.Ink, Dots: []figure.Dot{dot}}
}

// probability writes p so that a small one is not shown as 0.
func probability(p float64) string {
	switch {
	case math.IsNaN(p):
		return format.Absent
	case p < 0.001:
		return "< 0.001"
	}
	return format.Fixed(p, 3)
}

func (d *Digest) comparisonTable() *Table {
	t := &Table{Caption: "Ratios of the first subject to the second, with corrected p and interval", Align: "llllrlrrrl",
		Head: []string{"First / second", "Metric", "Load", "Arrivals", "Connections", "Verdict", "Ratio", "95 % interval", "p", "Pairs and warnings"}}
	for _, c := range d.Comparisons {
		note := format.Plural(c.Pairs, "pair", "pairs")
		if d.isHeadline(c) {
			note += "; the headline, " + format.Plural(d.Headline.Looks, "look", "looks")
		}
		if c.AAControl {
			note += "; the A/A control"
		}
		if c.Warning != "" && !TooShort(c) {
			note += "; " + c.Warning
		}
		t.Add(c.A+" / "+c.B, d.metricName(c.Metric), c.Load, format.Pattern(c.Pattern), format.Count(c.Connections), VerdictWord(c),
			RatioOf(c), format.Between(c.Low, c.High), probability(c.P), note)
	}
	return t
}

func (d *Digest) metricName(m string) string {
	switch m {
	case result.MetricCPU:
		return "CPU per " + d.Unit()
	case result.MetricRate:
		return d.Units() + "/s"
	case result.MetricLatency:
		return "mean time"
	case result.MetricCV:
		return "variation"
	}
	return m
}
