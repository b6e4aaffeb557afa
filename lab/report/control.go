package report

import (
	"fmt"

	"weir/lab/report/format"
	"weir/lab/result"
)

// controls returns the comparisons of a subject with its A/A control.
func (d *Digest) controls() []result.Comparison {
	return selected(d.Comparisons, func(c result.Comparison) bool { return c.AAControl })
}

// differingControls counts the comparisons in which an A/A control is called different.
func (d *Digest) differingControls() int {
	return len(selected(d.controls(), func(c result.Comparison) bool { return c.Verdict == result.Different }))
}

// ControlSection shows the comparisons of a subject with its A/A control. It is empty if the run
// had none.
func (d *Digest) ControlSection() Section {
	s := Section{ID: "control", Title: "The A/A control",
		How: "One subject took part twice under two names and was treated as two. There is no difference to find between the two: a significant one is an error of the measurement."}
	controls := d.controls()
	t := &Table{Caption: "A subject compared with itself", Align: "lllrlrrr", Head: []string{"Subject", "Metric", "Arrivals", "Connections", "Verdict", "Ratio", "95 % interval", "Pairs"}}
	for _, c := range controls {
		t.Add(c.A, d.metricName(c.Metric), format.Pattern(c.Pattern), format.Count(c.Connections), VerdictWord(c), RatioOf(c), format.Between(c.Low, c.High), format.Count(c.Pairs))
	}
	switch {
	case len(controls) > 6:
		s.Blocks = []Block{{Text: d.controlSentence(controls)}, {Fold: "Every comparison with the A/A control", Inside: []Block{{Table: t}}}}
	case len(controls) > 0:
		s.Blocks = []Block{{Text: d.controlSentence(controls)}, {Table: t}}
	case d.Plan.AAControl != "" && len(d.Trials) > 0:
		s.Blocks = []Block{Paragraph("%s took part twice, but no block has accepted trials of both, so the control says nothing.", d.Plan.AAControl)}
	}
	return s
}

// controlSentence says whether the A/A control passed.
func (d *Digest) controlSentence(controls []result.Comparison) string {
	compared := format.Plural(len(controls), "comparison", "comparisons")
	if n := d.differingControls(); n > 0 {
		return fmt.Sprintf("The A/A control failed: %s was called different from itself in %d of %s. Chance alone does so in at most one run of 20 for each metric. If it happens again in another run, something disturbs the measurements.", controls[0].A, n, compared)
	}
	worst := 1.0
	for _, c := range controls {
		if far := max(c.Ratio, 1/c.Ratio); c.Metric == result.MetricCPU && far > worst && far < 1e6 {
			worst = far
		}
	}
	return fmt.Sprintf("The A/A control passed: %s was not called different from itself in any of %s. Its CPU per %s differed by up to %s %%.", controls[0].A, compared, d.Unit(), format.Fixed(100*(worst-1), 1))
}
