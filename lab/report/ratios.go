package report

import (
	"fmt"
	"math"

	"weir/lab/report/figure"
	"weir/lab/result"
)

// ratiosSection shows forest plots: every ratio with its confidence interval and its verdict.
func (d *digest) ratiosSection() section {
	s := section{ID: "ratios", Title: "Ratios, confidence intervals and verdicts", How: d.ratiosHow()}
	if len(d.Comparisons) == 0 {
		return s
	}
	s.Blocks = d.perGroup("Ratios", d.forest(result.MetricCPU, "CPU per "+d.unit()))
	if cv := d.perGroup("Ratios", d.forest(result.MetricCV, "variation of CPU")); len(cv) > 0 {
		s.Blocks = append(s.Blocks, block{Fold: "Ratios of the variation of CPU", Inside: cv})
	}
	if rate := d.perGroup("Ratios", d.forest(result.MetricRate, d.Plan.Units()+"/s")); len(rate) > 0 {
		s.Blocks = append(s.Blocks, block{Fold: "Ratios of the " + d.Plan.Units() + " per second in closed loops", Inside: rate})
	}
	if latency := d.perGroup("Ratios", d.forest(result.MetricLatency, "mean time")); len(latency) > 0 {
		s.Blocks = append(s.Blocks, block{Fold: "Ratios of the mean time of an operation", Inside: latency})
	}
	s.Blocks = append(s.Blocks, block{Fold: fmt.Sprintf("All %s as a table", plural(len(d.Comparisons), "comparison", "comparisons")), Inside: []block{{Table: d.comparisonTable()}}})
	return s
}

// ratiosHow explains the plots and the verdicts.
func (d *digest) ratiosHow() string {
	margin := "the equivalence margin"
	if m := d.Plan.Margin; m > 0 {
		margin = fmt.Sprintf("the equivalence margin of %s to %s (the grey band)", times(1/(1+m)), times(1+m))
	}
	return "A ratio of 1 is no difference. The whisker is the 95 % confidence interval with the correction of the verdict. " +
		"\"Different\" means that it excludes 1, \"equivalent\" that the ratio lies within " + margin + " with the same confidence, \"undecided\" that neither was shown. " +
		d.correction(result.MetricCPU) + " " + d.kind.secondCorrection()
}

// forest returns a function that draws the ratios of one metric in a group.
func (d *digest) forest(metric, what string) func(*group) *figure.Figure {
	return func(g *group) *figure.Figure {
		c := figure.Rows{Name: "ratios-" + metric + "-" + d.tag(g), Title: "Ratios of " + what + ": " + d.caption(g),
			Desc: "One row for each pair of subjects: the ratio, its 95 % confidence interval, the verdict.", X: figure.Axis{Label: "first / second", Log: true}, Mark: []float64{1}}
		if d.Plan.Margin > 0 {
			c.Between = [2]float64{1 / (1 + d.Plan.Margin), 1 + d.Plan.Margin}
		}
		for _, v := range d.family(metric, g) {
			if !tooShort(v) {
				c.Rows = append(c.Rows, forestRow(v))
			}
		}
		if len(c.Rows) == 0 {
			return nil
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
	dot.Hover = fmt.Sprintf("%s / %s: %s, 95 %% interval %s, p %s, %s, %s", v.A, v.B, times(v.Ratio), between(v.Low, v.High), probability(v.P), plural(v.Pairs, "pair", "pairs"), v.Verdict)
	return figure.Row{Name: v.A + " / " + v.B, Note: times(v.Ratio) + " " + v.Verdict, Role: figure.Ink, Dots: []figure.Dot{dot}}
}

// probability writes p so that a small one is not shown as 0.
func probability(p float64) string {
	switch {
	case math.IsNaN(p):
		return absent
	case p < 0.001:
		return "< 0.001"
	}
	return fixed(p, 3)
}

func (d *digest) comparisonTable() *table {
	t := &table{Caption: "Ratios of the first subject to the second, with corrected p and interval", Align: "llllrlrrrl",
		Head: []string{"First / second", "Metric", "Load", "Arrivals", "Connections", "Verdict", "Ratio", "95 % interval", "p", "Pairs and warnings"}}
	for _, c := range d.Comparisons {
		note := plural(c.Pairs, "pair", "pairs")
		if c.AAControl {
			note += "; the A/A control"
		}
		if c.Warning != "" && !tooShort(c) {
			note += "; " + c.Warning
		}
		t.add(c.A+" / "+c.B, d.metricName(c.Metric), c.Load, patternName(c.Pattern), count(c.Connections), verdictWord(c),
			ratioOf(c), between(c.Low, c.High), probability(c.P), note)
	}
	return t
}

func (d *digest) metricName(m string) string {
	switch m {
	case result.MetricCPU:
		return "CPU per " + d.unit()
	case result.MetricRate:
		return d.Plan.Units() + "/s"
	case result.MetricLatency:
		return "mean time"
	case result.MetricCV:
		return "variation"
	}
	return m
}
