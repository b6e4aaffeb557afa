package report

import (
	"fmt"
	"math"
	"slices"

	"weir/lab/report/figure"
	"weir/lab/result"
)

// ratiosSection is the forest plots: every ratio with its interval and its verdict.
func (d *digest) ratiosSection() section {
	s := section{ID: "ratios", Title: "Ratios, intervals, verdicts", How: d.ratiosHow()}
	if len(d.Comparisons) == 0 {
		if d.accepted() > 0 {
			s.Blocks = []block{text("Nothing was compared: a comparison needs two subjects with accepted trials under the same load.")}
		}
		return s
	}
	s.Blocks = d.perGroup("Ratios", d.forest(result.MetricCPU, "CPU per "+d.unit()))
	if cv := d.perGroup("Ratios", d.forest(result.MetricCV, "variation of CPU")); len(cv) > 0 {
		s.Blocks = append(s.Blocks, block{Fold: "Ratios of the variation of CPU", Inside: cv})
	}
	if rate := d.perGroup("Ratios", d.forest(result.MetricRate, d.Plan.Units()+"/s")); len(rate) > 0 {
		s.Blocks = append(s.Blocks, block{Fold: "Ratios of the " + d.Plan.Units() + " a second of closed loops", Inside: rate})
	}
	if latency := d.perGroup("Ratios", d.forest(result.MetricLatency, "mean time")); len(latency) > 0 {
		s.Blocks = append(s.Blocks, block{Fold: "Ratios of the mean time of an operation", Inside: latency})
	}
	s.Blocks = append(s.Blocks, block{Fold: fmt.Sprintf("All %s as a table", plural(len(d.Comparisons), "comparison", "comparisons")), Inside: []block{{Table: d.comparisonTable()}}})
	return s
}

func (d *digest) ratiosHow() string {
	margin := "the margin"
	if m := d.Plan.Margin; m > 0 {
		margin = fmt.Sprintf("%s to %s, the grey band,", times(1/(1+m)), times(1+m))
	}
	return "A ratio of 1 is no difference. " + d.correction(result.MetricCPU) + " " + d.secondCorrection() + " " +
		"The whisker is the 95 % interval that the verdict rests on, corrected in the same way. " +
		"A verdict is \"different\" when that leaves out 1; " +
		"it is \"equivalent\" when a ratio outside " + margin + " is as unlikely, and else \"undecided\"."
}

// secondCorrection is of what is compared beside CPU.
func (d *digest) secondCorrection() string {
	if d.Plan.Stack() {
		return d.correction(result.MetricRate) + " " + d.correction(result.MetricLatency)
	}
	return d.correction(result.MetricCV)
}

// forest draws the ratios of one metric in a group.
func (d *digest) forest(metric, what string) func(*group) *figure.Figure {
	return func(g *group) *figure.Figure {
		c := figure.Rows{Name: "ratios-" + metric + "-" + d.tag(g), Title: "Ratios of " + what + ": " + d.caption(g),
			Desc: "One row for each pair of subjects: the ratio, the 95 % interval of its verdict, the verdict.", X: figure.Axis{Label: "first / second", Log: true}, Mark: []float64{1}}
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

// forestRow turns colour and shape with the verdict: filled where something was decided.
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
	t := &table{Caption: "Ratios of the first subject to the second; p and the interval are corrected", Align: "llllrlrrrl",
		Head: []string{"First / second", "Metric", "Load", "Arrivals", "Connections", "Verdict", "Ratio", "95 % interval", "p", "Pairs and warnings"}}
	for _, c := range d.Comparisons {
		note := plural(c.Pairs, "pair", "pairs")
		if c.Twin {
			note += "; the twin"
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

// twinSection says what the lab found between a subject and its own copy.
func (d *digest) twinSection() section {
	s := section{ID: "twin", Title: "The twin",
		How: "One subject ran twice under two names, without the lab treating it otherwise. An honest lab finds no difference between them; what it finds is its own error."}
	twins := slices.DeleteFunc(slices.Clone(d.Comparisons), func(c result.Comparison) bool { return !c.Twin })
	switch {
	case len(twins) == 0 && len(d.Trials) == 0:
		return s
	case len(twins) == 0 && d.Plan.Twin == "":
		s.Blocks = []block{text("No subject had a twin in this run, so it holds no test of the lab itself.")}
		return s
	case len(twins) == 0:
		s.Blocks = []block{text("%s had a twin, but no accepted pair of trials to compare it by.", d.Plan.Twin)}
		return s
	}
	t := &table{Caption: "A subject against its own copy", Align: "lllrlrrr", Head: []string{"Subject", "Metric", "Arrivals", "Connections", "Verdict", "Ratio", "95 % interval", "Pairs"}}
	for _, c := range twins {
		t.add(c.A, d.metricName(c.Metric), patternName(c.Pattern), count(c.Connections), verdictWord(c), ratioOf(c), between(c.Low, c.High), count(c.Pairs))
	}
	s.Blocks = []block{text("%s", d.twinSaid(twins)), {Table: t}}
	if len(t.Rows) > 6 {
		s.Blocks[1] = block{Fold: "Every comparison of the twins", Inside: []block{{Table: t}}}
	}
	return s
}

func (d *digest) twinSaid(twins []result.Comparison) string {
	if n := d.twinsDiffering(); n > 0 {
		return fmt.Sprintf("The lab called the twins different in %d of %s. Chance alone does so in at most one run of 20 for each metric; if it happens again in another run, something disturbs the measurements.", n, plural(len(twins), "comparison", "comparisons"))
	}
	worst := 1.0
	for _, c := range twins {
		if far := max(c.Ratio, 1/c.Ratio); c.Metric == result.MetricCPU && far > worst && far < 1e6 {
			worst = far
		}
	}
	return fmt.Sprintf("The lab did not call the twins different in any of %s; in CPU per %s they came out up to %s %% apart.", plural(len(twins), "comparison", "comparisons"), d.unit(), fixed(100*(worst-1), 1))
}
