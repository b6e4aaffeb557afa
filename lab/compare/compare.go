// Package compare compares the subjects of a run, or of two runs, from the trials in the results.
//
// It selects the trials and lab/stat computes the statistics. Only accepted trials are used.
// Subjects are compared block by block within a cell: under the same load, number of connections
// and arrival pattern.
//
// # Correction for multiple comparisons
//
// With many comparisons, noise alone makes some of them "different". The p value of a comparison,
// and with it the verdict, has Holm's correction over its family. A family is all comparisons of
// the run in one metric: those of all loads, numbers of connections and patterns, and those of the
// A/A control. At most one run in 20 has one or more false "different" in a metric. The metrics are
// CPU per message, the variation of CPU, the rate of closed loops (where the subject sets the rate)
// and the mean time of operations on TCP/IP stacks. One sentence may therefore combine verdicts of
// several cells. Comparisons without an interval test nothing and are not counted.
//
// # The headline
//
// A run may have a headline: one comparison that is tested first and alone, with 4 of the 5 %. If
// it is "different", the others in its metric have 5 % together, and otherwise 1 % (lab/stat,
// JudgeRest). In a run with a time limit the headline has blocks of its own, as many as a
// sequential test needs (lab/stat/sequential). Their number depends on their figures, so no other
// comparison uses them. The number of all other blocks depends on the time that is left, and not on
// the figures in them.
//
// A comparison has two confidence intervals: an ordinary one of 95 %, and one with the correction
// of the p value. Reports show the second, which agrees with the verdict.
//
// # Variation
//
// The coefficient of variation of CPU is pooled over the windows of all trials (lab/stat,
// PooledCV). The windows are cut from the trials' samples. A subject with too few windows is "too
// short to tell".
//
// # A/A control
//
// One subject may take part twice: as NAME and as NAME+result.ControlSuffix. This A/A control is
// compared only with its original, and the comparison is marked. It is not listed as a subject.
//
// # Limitations
//
// Subjects whose CPU was not measured (those that the lab did not start) are not compared.
package compare

import (
	"slices"
	"strings"

	"weir/lab/result"
	"weir/lab/stat"
)

// defaultMargin is the equivalence margin of a plan without one.
const defaultMargin = 0.05

// All compares all pairs of subjects of a finished or unfinished run within each cell, in the
// plan's order. It leaves out pairs without accepted trials of both in a cell.
func (k Kind) All(r *result.Results) []result.Comparison {
	var all families
	h := k.Headline(r)
	if h != nil && h.Blocks > 0 {
		all.headline = h
	}
	for _, c := range cells(r) {
		trials := c.trials(r)
		for _, metric := range k.metrics(c, trials) {
			for _, p := range pairs(subjects(r)) {
				if a, b := trials[p.a], trials[p.b]; len(a) > 0 && len(b) > 0 && !all.isHeadline(c, metric, p) {
					all.add(c.comparison(p.a, p.b, metric), k.pairedEstimate(metric, a, b, r.Plan.WindowMS))
				}
			}
		}
	}
	found := all.withVerdicts(margin(r))
	if all.headline != nil {
		found = slices.Insert(found, 0, k.headlineComparison(r, h))
	}
	return found
}

// pairedEstimate compares two subjects in one metric by paired differences of the same blocks.
func (k Kind) pairedEstimate(metric string, a, b []*result.Trial, windowMS float64) stat.Estimate {
	if metric == result.MetricCV {
		return stat.CVRatio(SampledTrials(a), SampledTrials(b), windowMS)
	}
	of := k.value(metric)
	return stat.PairedRatio(valuesOf(a, of), valuesOf(b, of))
}

// families collects comparisons without verdicts. Those in one metric are a family.
type families struct {
	found     []result.Comparison
	estimates []stat.Estimate
	headline  *result.Headline // compared apart, with its verdict; nil: none
}

// isHeadline reports whether a pair in a cell and a metric is the headline.
func (f *families) isHeadline(c cell, metric string, p pair) bool {
	h := f.headline
	return h != nil && metric == h.Metric && c == cellOfHeadline(h) && (p == pair{h.A, h.B} || p == pair{h.B, h.A})
}

// judge returns the verdicts on the comparisons in one metric.
func (f *families) judge(metric string, estimates []stat.Estimate, margin float64) []stat.Verdict {
	if f.headline.Tested() && f.headline.Metric == metric {
		return stat.JudgeRest(f.headline.Verdict, estimates, margin)
	}
	return stat.Judge(estimates, margin)
}

func (f *families) add(c result.Comparison, e stat.Estimate) {
	f.found, f.estimates = append(f.found, c), append(f.estimates, e)
}

// withVerdicts returns the comparisons with figures and verdicts, in the order in which they were
// added. A comparison's own warning is kept, after that of its estimate.
func (f *families) withVerdicts(margin float64) []result.Comparison {
	members := map[string][]int{}
	for i, c := range f.found {
		members[c.Metric] = append(members[c.Metric], i)
	}
	for metric, family := range members {
		estimates := make([]stat.Estimate, len(family))
		for k, i := range family {
			estimates[k] = f.estimates[i]
		}
		for k, v := range f.judge(metric, estimates, margin) {
			e, c := estimates[k], &f.found[family[k]]
			c.Ratio, c.Low, c.High, c.Pairs = e.Ratio, e.Low, e.High, e.Blocks
			c.P, c.Verdict, c.Warning = v.P, v.Word, join(v.Warning, c.Warning)
			c.VerdictLow, c.VerdictHigh = v.Low, v.High
		}
	}
	return f.found
}

func margin(r *result.Results) float64 {
	if r.Plan.Margin > 0 {
		return r.Plan.Margin
	}
	return defaultMargin
}

// A pair is the names of two subjects that are compared.
type pair struct{ a, b string }

// pairs returns all pairs of subjects, in their order, then each subject with its A/A control.
func pairs(names []string) []pair {
	var ps []pair
	for i, a := range names {
		for _, b := range names[i+1:] {
			ps = append(ps, pair{a, b})
		}
	}
	for _, a := range names {
		ps = append(ps, pair{a, a + result.ControlSuffix})
	}
	return ps
}

// subjects returns the names of the run's subjects without A/A controls: first as listed, then
// those that only trials name.
func subjects(r *result.Results) []string {
	var names []string
	seen := map[string]bool{}
	add := func(name string) {
		if !seen[name] && !isControl(name) {
			names = append(names, name)
		}
		seen[name] = true
	}
	for _, s := range r.Subjects {
		add(s.Name)
	}
	for i := range r.Trials {
		add(r.Trials[i].Subject)
	}
	return names
}

func isControl(name string) bool { return strings.HasSuffix(name, result.ControlSuffix) }
