package compare

import (
	"math"
	"slices"

	"weir/lab/result"
	"weir/lab/stat"
	"weir/lab/stat/sequential"
)

// HeadlinePlan returns the plan of the sequential test of a headline with the equivalence margin.
func HeadlinePlan(margin float64, blocks int) sequential.Plan {
	return sequential.Plan{Margin: margin, Confidence: 1 - stat.HeadlineLevel/2, Blocks: blocks, TwoSided: true}
}

// HeadlineMetrics returns the metrics that a headline may have, the main one first: those that are
// figures of one trial.
func HeadlineMetrics() []string {
	return []string{result.MetricCPU, result.MetricRate, result.MetricLatency}
}

// Headline returns the headline of a run with the verdict of the trials so far; nil: the run has
// none. It depends on r alone, so that an interrupted run and a report come to the same verdict.
func (k Kind) Headline(r *result.Results) *result.Headline {
	if r.Headline == nil {
		return nil
	}
	h := r.Headline.Choice()
	if h.PlannedBlocks > 0 {
		k.testInBlocks(r, &h)
	} else {
		k.testOnce(r, &h)
	}
	return &h
}

// testInBlocks gives the headline's own blocks to the sequential test.
func (k Kind) testInBlocks(r *result.Results, h *result.Headline) {
	trials, of := k.headlineTrials(r, h), k.value(h.Metric)
	ratios := stat.BlockRatios(valuesOf(trials[h.A], of), valuesOf(trials[h.B], of))
	test, last := sequence(r, h, ratios)
	h.Blocks, h.Looks, h.Ratio, h.P = last.Blocks, last.Looks, last.Ratio, 1
	h.Low, h.High = finite(last)
	switch last.Verdict {
	case sequential.Different:
		h.Verdict = result.Different
	case sequential.Equivalent:
		h.Verdict = result.Equivalent
	}
	if h.Looks > 0 {
		h.P = min(1, test.P()/stat.HeadlineShare)
	}
	if h.Blocks == 0 {
		h.Ratio = 0
	}
	for _, name := range []string{h.A, h.B} {
		if again := trials[name+result.ControlSuffix]; len(again) > 0 {
			_, control := sequence(r, h, stat.BlockRatios(valuesOf(trials[name], of), valuesOf(again, of)))
			if low, high := finite(control); high > 0 {
				h.ControlRatio, h.ControlLow, h.ControlHigh = control.Ratio, low, high
			}
		}
	}
}

// headlineTrials returns the trials of the blocks that the headline's test uses, by subject.
func (k Kind) headlineTrials(r *result.Results, h *result.Headline) map[string][]*result.Trial {
	return cellOfHeadline(h).trialsIn(r, func(t *result.Trial) bool { return t.OfHeadline() == (h.PlannedBlocks > 0) })
}

// sequence returns the test and its last decision after the blocks' ratios. A test without blocks,
// or with a plan that cannot be, is undecided.
func sequence(r *result.Results, h *result.Headline, ratios []float64) (*sequential.Test, sequential.Decision) {
	last := sequential.Decision{High: math.Inf(1)}
	test, err := sequential.New(HeadlinePlan(margin(r), h.PlannedBlocks))
	if err != nil {
		return nil, last // damaged results
	}
	for _, ratio := range ratios {
		if d, err := test.Add(ratio); err == nil {
			last = d
		}
	}
	if headlineEnded(r) {
		last = test.Close()
	}
	return test, last
}

// headlineEnded reports whether the headline gets no more blocks of its own. They come before all
// others, and end with a verdict or with the time for them.
func headlineEnded(r *result.Results) bool {
	return slices.ContainsFunc(r.Trials, func(t result.Trial) bool { return !t.OfHeadline() })
}

// finite returns the interval of a decision, or zeros without one: JSON has no infinity.
func finite(d sequential.Decision) (low, high float64) {
	if d.Looks == 0 || math.IsInf(d.High, 1) {
		return 0, 0
	}
	return d.Low, d.High
}

// testOnce tests the headline in all blocks of its cell: their number does not depend on their
// figures.
func (k Kind) testOnce(r *result.Results, h *result.Headline) {
	e := k.headlineEstimate(r, h)
	v := stat.JudgeHeadline(e, margin(r))
	h.Blocks, h.Ratio, h.P = e.Blocks, e.Ratio, v.P
	h.Verdict, h.Low, h.High, h.Warning = v.Word, v.Low, v.High, v.Warning
	if v.High > 0 {
		h.Looks = 1
	}
}

// headlineEstimate is the ordinary estimate in the blocks of the headline's test.
func (k Kind) headlineEstimate(r *result.Results, h *result.Headline) stat.Estimate {
	trials := k.headlineTrials(r, h)
	return k.pairedEstimate(h.Metric, trials[h.A], trials[h.B], r.Plan.WindowMS)
}

// headlineComparison is the headline as one of the run's comparisons.
func (k Kind) headlineComparison(r *result.Results, h *result.Headline) result.Comparison {
	c, e := cellOfHeadline(h).comparison(h.A, h.B, h.Metric), k.headlineEstimate(r, h)
	c.Ratio, c.Pairs, c.P, c.Verdict, c.Warning = h.Ratio, h.Blocks, h.P, h.Verdict, h.Warning
	if c.VerdictLow, c.VerdictHigh = h.Low, h.High; h.High > 0 {
		c.Low, c.High = e.Low, e.High
	}
	return c
}

// HeadlineMeans returns the means of both subjects in the blocks that the headline's test uses; 0
// without an accepted trial.
func (k Kind) HeadlineMeans(r *result.Results) (a, b float64) {
	trials, of := k.headlineTrials(r, r.Headline), k.value(r.Headline.Metric)
	mean := func(name string) (m float64) {
		for _, t := range trials[name] {
			m += of(t) / float64(len(trials[name]))
		}
		return m
	}
	return mean(r.Headline.A), mean(r.Headline.B)
}

// HeadlineMetric reports whether a workload's loads of a pattern can have a metric. Whether they do
// is known for some workloads only when there are trials.
func (k Kind) HeadlineMetric(metric, pattern string) bool {
	switch metric {
	case result.MetricRate:
		return pattern == result.Closed
	case result.MetricLatency:
		return k.Latency != nil
	}
	return slices.Contains(HeadlineMetrics(), metric)
}
